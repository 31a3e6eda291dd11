/**
 * Validates values against an OpenAPI schema, and reports as a Kubernetes API server does.
 *
 * **Guarantees**
 * - T3: fields, reasons and messages of the causes are the real server's.
 * - T3: on an update, what did not change is not judged again (ratcheting).
 *
 * **Caveats**
 * - The real server reports causes in no fixed order; here they follow the schema.
 *
 * @since 0.1.0
 */
import { type Cause, invalid, NO_FIELD, notSupported, required, tooLong, tooMany, typeInvalid } from "./causes.ts"
import { equal, has, isArray, isObject, isString, type JsonObject } from "./json.ts"
import { correlate, type Old, oldItem, oldMember } from "./correlate.ts"
import { hasFormat } from "./formats.ts"
import { compileRegex } from "./regex.ts"
import { isEmbedded, isIntOrString, memberSchema, type Schema } from "./schema.ts"

/** What one validation found, and how many schemas it visited: the measure of the closest `anyOf` branch. */
interface Outcome {
  readonly causes: Array<Cause>
  visited: number
}

/** Validates `value` at `path`; `old` is the same value before an update. */
export const validateSchema = (value: unknown, schema: Schema, path: string, old: Old): ReadonlyArray<Cause> =>
  validateValue(value, schema, path, old).causes

const validateValue = (value: unknown, schema: Schema, path: string, old: Old): Outcome => {
  const outcome: Outcome = { causes: [], visited: 1 }
  if (old !== undefined && equal(old.value, value)) return outcome
  outcome.causes.push(...validateType(value, schema, path))
  if (value !== null) {
    validateCombined(value, schema, path, old, outcome)
    if (isString(value)) outcome.causes.push(...validateString(value, schema, path))
    if (typeof value === "number") outcome.causes.push(...validateNumber(value, schema, path))
    if (isArray(value)) validateArray(value, schema, path, old, outcome)
  }
  if (schema.enum !== undefined && !schema.enum.some((allowed) => equal(allowed, value))) {
    outcome.causes.push(notSupported(path, value, schema.enum))
  }
  if (isObject(value)) validateObject(value, schema, path, old, outcome)
  return outcome
}

const typeName = (value: unknown): string => {
  if (value === null) return "null"
  if (isArray(value)) return "array"
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number"
  return typeof value
}

const validateType = (value: unknown, schema: Schema, path: string): ReadonlyArray<Cause> => {
  const actual = typeName(value)
  if (value === null && schema.nullable === true) return []
  const types = isIntOrString(schema) ? ["integer", "string"] : schema.type === undefined ? [] : [schema.type]
  if (types.length === 0) return []
  if (types.includes(actual) || (actual === "integer" && types.includes("number"))) {
    return isString(value) && schema.format !== undefined && !hasFormat(schema.format, value)
      ? [typeInvalid(path, value, `${path} in body must be of type ${schema.format}: ${JSON.stringify(value)}`)]
      : []
  }
  return [typeInvalid(path, actual, `${path} in body must be of type ${types.join(",")}: "${actual}"`)]
}

const validateString = (value: string, schema: Schema, path: string): ReadonlyArray<Cause> => {
  // Only the first of these is told.
  const length = Array.from(value).length
  if (schema.maxLength !== undefined && length > schema.maxLength) return [tooLong(path, schema.maxLength)]
  if (schema.minLength !== undefined && length < schema.minLength) {
    return [invalid(path, value, `${path} in body should be at least ${schema.minLength} chars long`)]
  }
  if (schema.pattern !== undefined && compileRegex(schema.pattern)?.test(value) === false) {
    return [invalid(path, value, `${path} in body should match '${schema.pattern}'`)]
  }
  return []
}

const INT_RANGES: { readonly [format: string]: readonly [number, number] } = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63]
}

const validateNumber = (value: number, schema: Schema, path: string): ReadonlyArray<Cause> => {
  const causes: Array<Cause> = []
  const fail = (why: string) => causes.push(invalid(path, value, `${path} in body should be ${why}`))
  const { maximum, minimum, multipleOf } = schema
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) fail(`a multiple of ${multipleOf}`)
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum === true) {
      if (value >= maximum) fail(`less than ${maximum}`)
    } else if (value > maximum) fail(`less than or equal to ${maximum}`)
  }
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum === true) {
      if (value <= minimum) fail(`greater than ${minimum}`)
    } else if (value < minimum) fail(`greater than or equal to ${minimum}`)
  }
  return [...causes, ...validateRange(value, schema, path)]
}

const isMultiple = (value: number, factor: number): boolean => {
  const quotient = value / factor
  return Math.abs(quotient - Math.round(quotient)) < 1e-9
}

const validateRange = (value: number, schema: Schema, path: string): ReadonlyArray<Cause> => {
  if (schema.type !== "integer") return []
  const range = INT_RANGES[schema.format ?? ""]
  if (range === undefined) {
    return Number.isInteger(value)
      ? []
      : [invalid(NO_FIELD, "", `Checked value must be of type integer (default format) in ${path}`)]
  }
  const fits = Number.isInteger(value) && value >= range[0] && value <= range[1]
  return fits
    ? []
    : [invalid(NO_FIELD, "", `Checked value must be of type integer with format ${schema.format} in ${path}`)]
}

const validateArray = (
  value: ReadonlyArray<unknown>,
  schema: Schema,
  path: string,
  old: Old,
  outcome: Outcome
): void => {
  const { causes } = outcome
  if (schema.items !== undefined) {
    const items = schema.items
    const olds = correlate(old, schema)
    value.forEach((item, index) => {
      add(outcome, validateValue(item, items, `${path}[${index}]`, oldItem(olds, item)))
    })
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    causes.push(invalid(path, value.length, `${path} in body should have at least ${schema.minItems} items`))
  }
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    causes.push(tooMany(path, value.length, schema.maxItems))
  }
  if (schema.uniqueItems === true && value.some((item, i) => value.slice(0, i).some((seen) => equal(seen, item)))) {
    causes.push(invalid(path, "", `${path} in body shouldn't contain duplicates`))
  }
}

const childPath = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`)

const validateObject = (value: JsonObject, schema: Schema, path: string, old: Old, outcome: Outcome): void => {
  const { causes } = outcome
  const count = Object.keys(value).length
  if (schema.minProperties !== undefined && count < schema.minProperties) {
    causes.push(invalid(path, count, `${path} in body should have at least ${schema.minProperties} properties`))
  }
  if (schema.maxProperties !== undefined && count > schema.maxProperties) {
    causes.push(tooMany(path, count, schema.maxProperties))
  }
  const needed = isEmbedded(schema)
    ? [...new Set(["apiVersion", "kind", ...(schema.required ?? [])])]
    : (schema.required ?? [])
  for (const key of needed) {
    if (!has(value, key)) causes.push(required(childPath(path, key)))
  }
  for (const key of Object.keys(value)) {
    const known = memberSchema(schema, key)
    if (known === undefined) continue
    add(outcome, validateValue(value[key], known, childPath(path, key), oldMember(old, key)))
  }
}

const add = (outcome: Outcome, inner: Outcome): void => {
  outcome.causes.push(...inner.causes)
  outcome.visited += inner.visited
}

const validateCombined = (value: unknown, schema: Schema, path: string, old: Old, outcome: Outcome): void => {
  const fail = (why: string) => outcome.causes.push(invalid(NO_FIELD, "", `${JSON.stringify(path)} must ${why}`))
  const tries = (branches: ReadonlyArray<Schema>) =>
    branches.map((branch) => validateValue(value, branch, path, undefined))

  if (schema.anyOf !== undefined) {
    const results = tries(schema.anyOf)
    if (results.every(failed)) {
      fail("validate at least one schema (anyOf)")
      addClosest(outcome, results)
    }
  }
  if (schema.oneOf !== undefined) {
    const results = tries(schema.oneOf)
    const valid = results.filter((result) => !failed(result)).length
    if (valid === 0) {
      fail("validate one and only one schema (oneOf). Found none valid")
      addClosest(outcome, results)
    } else if (valid > 1) {
      fail(`validate one and only one schema (oneOf). Found ${valid} valid alternatives`)
    }
  }
  if (schema.allOf !== undefined) {
    const results = schema.allOf.map((branch) => validateValue(value, branch, path, old))
    const valid = results.filter((result) => !failed(result)).length
    for (const result of results) add(outcome, result)
    if (valid < results.length) {
      fail(`validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`)
    }
  }
  if (schema.not !== undefined && !failed(validateValue(value, schema.not, path, undefined))) {
    fail("not validate the schema (not)")
  }
}

const failed = (outcome: Outcome): boolean => outcome.causes.length > 0

const addClosest = (outcome: Outcome, results: ReadonlyArray<Outcome>): void => {
  const closest = results.reduce((best, next) => (next.visited > best.visited ? next : best))
  outcome.causes.push(...closest.causes)
}
