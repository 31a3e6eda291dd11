/**
 * What is wrong with a field, in the words of a Kubernetes API server.
 *
 * **Guarantees**
 * - T3: `reason`, `field` and `message` are those that a real server puts into `details.causes`.
 *
 * @since 0.1.0
 */
import { canonical, isString } from "./json.ts"

export type CauseReason =
  | "FieldValueInvalid"
  | "FieldValueRequired"
  | "FieldValueNotSupported"
  | "FieldValueTypeInvalid"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueNotFound"

/** One entry of `details.causes`. */
export interface Cause {
  readonly field: string
  readonly reason: CauseReason
  readonly message: string
}

/** The field that a real server prints when an error belongs to no field. */
export const NO_FIELD = "<nil>"

/** A value as the server quotes it in a message. */
export const quote = (value: unknown): string => (isString(value) ? JSON.stringify(value) : canonical(value))

export const invalid = (field: string, value: unknown, why: string): Cause => ({
  field,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${quote(value)}: ${why}`
})

export const typeInvalid = (field: string, value: unknown, why: string): Cause => ({
  field,
  reason: "FieldValueTypeInvalid",
  message: `Invalid value: ${quote(value)}: ${why}`
})

export const required = (field: string, why = ""): Cause => ({
  field,
  reason: "FieldValueRequired",
  message: why === "" ? "Required value" : `Required value: ${why}`
})

export const notSupported = (field: string, value: unknown, supported: ReadonlyArray<unknown>): Cause => ({
  field,
  reason: "FieldValueNotSupported",
  message: `Unsupported value: ${quote(value)}: supported values: ${supported
    .map((item) => JSON.stringify(isString(item) ? item : canonical(item)))
    .join(", ")}`
})

export const duplicate = (field: string, value: unknown): Cause => ({
  field,
  reason: "FieldValueDuplicate",
  message: `Duplicate value: ${quote(value)}`
})

export const forbidden = (field: string, why: string): Cause => ({
  field,
  reason: "FieldValueForbidden",
  message: `Forbidden: ${why}`
})

export const tooLong = (field: string, max: number): Cause => ({
  field,
  reason: "FieldValueTooLong",
  message: `Too long: may not be more than ${max} bytes`
})

export const tooMany = (field: string, actual: number, max: number): Cause => ({
  field,
  reason: "FieldValueTooMany",
  message: `Too many: ${actual}: must have at most ${max} ${max === 1 ? "item" : "items"}`
})

/** The `message` of the Status that carries these causes; `kind` is `Kind.group`, or `Kind` in the core group. */
export const invalidMessage = (kind: string, name: string, causes: ReadonlyArray<Cause>): string => {
  const texts = [...new Set(causes.map((cause) => `${cause.field}: ${cause.message}`))]
  return `${kind} ${JSON.stringify(name)} is invalid: ${texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`}`
}
