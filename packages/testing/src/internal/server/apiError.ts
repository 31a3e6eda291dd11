/**
 * What a request is refused with: an HTTP status and the `Status` object that the real API server sends for it.
 */
import type { Fields } from "./json.ts"

/** @internal */
export interface Cause {
  readonly field: string
  readonly reason: string
  readonly message: string
}

interface Details {
  readonly name?: string | undefined
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly uid?: string | undefined
  readonly causes?: ReadonlyArray<Fields> | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** @internal */
export class ApiError extends Error {
  readonly code: number
  readonly reason: string
  readonly details: Details | undefined
  /** Set where a list may go on in spite of the failure. */
  readonly continueToken: string | undefined

  constructor(code: number, reason: string, message: string, details?: Details, continueToken?: string) {
    super(message)
    this.code = code
    this.reason = reason
    this.details = details
    this.continueToken = continueToken
  }

  get status(): Fields {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: "Failure",
      message: this.message,
      ...(this.reason === "" ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code
    }
  }
}

/** The parts of a kind that messages name. @internal */
export interface Named {
  readonly group: string
  readonly plural: string
  readonly kind: string
}

const qualified = ({ group, plural }: Named): string => (group === "" ? plural : `${plural}.${group}`)

const about = (type: Named, name: string): Details => ({
  ...(name === "" ? {} : { name }),
  ...(type.group === "" ? {} : { group: type.group }),
  kind: type.plural
})

/** @internal */
export const badRequest = (message: string): ApiError => new ApiError(400, "BadRequest", message)

/** @internal */
export const unauthorized = (): ApiError => new ApiError(401, "Unauthorized", "Unauthorized")

/** @internal */
export const notFound = (type: Named, name: string): ApiError =>
  new ApiError(404, "NotFound", `${qualified(type)} "${name}" not found`, about(type, name))

/** @internal */
export const noSuchResource = (): ApiError =>
  new ApiError(404, "NotFound", "the server could not find the requested resource", {})

/** Custom kinds say which verb they do not have. @internal */
export const methodNotAllowed = (type?: Named & { readonly custom: unknown }, verb?: string): ApiError =>
  type?.custom === undefined
    ? new ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    : new ApiError(
        405,
        "MethodNotAllowed",
        `${verb} is not supported on resources of kind "${qualified(type)}"`,
        about(type, "")
      )

/** @internal */
export const alreadyExists = (type: Named, name: string, isDeleting: boolean): ApiError =>
  new ApiError(
    409,
    "AlreadyExists",
    `${isDeleting ? "object is being deleted: " : ""}${qualified(type)} "${name}" already exists`,
    about(type, name)
  )

/** @internal */
export const conflict = (type: Named, name: string, why: string): ApiError =>
  new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(type)} "${name}": ${why}`,
    about(type, name)
  )

/** @internal */
export const modified = (type: Named, name: string): ApiError =>
  conflict(type, name, "the object has been modified; please apply your changes to the latest version and try again")

/** @internal */
export const forbidden = (type: Named, name: string, why: string, causes?: ReadonlyArray<Cause>): ApiError =>
  new ApiError(403, "Forbidden", `${qualified(type)} "${name}" is forbidden: ${why}`, {
    ...about(type, name),
    ...(causes === undefined ? {} : { causes: causes.map((cause) => ({ ...cause })) })
  })

/** @internal */
export const expired = (message: string, continueToken?: string): ApiError =>
  new ApiError(410, "Expired", message, undefined, continueToken)

/** @internal */
export const tooLarge = (): ApiError =>
  new ApiError(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")

/** The 422 of a kind; several causes are listed in brackets, each once. @internal */
export const invalid = (
  type: { readonly group: string; readonly kind: string },
  name: string,
  causes: ReadonlyArray<Cause>
): ApiError => {
  const parts = [...new Set(causes.map(({ field, message }) => `${field}: ${message}`))]
  const kind = type.group === "" ? type.kind : `${type.kind}.${type.group}`
  return new ApiError(
    422,
    "Invalid",
    `${kind} "${name}" is invalid: ${parts.length === 1 ? parts.join("") : `[${parts.join(", ")}]`}`,
    {
      ...(name === "" ? {} : { name }),
      ...(type.group === "" ? {} : { group: type.group }),
      ...(type.kind === "" ? {} : { kind: type.kind }),
      causes: causes.map(({ field, message, reason }) => ({ reason, message, field }))
    }
  )
}

/** Parameters of the request itself that are wrong. @internal */
export const invalidOptions = (kind: string, ...causes: ReadonlyArray<Cause>): ApiError =>
  invalid({ group: "meta.k8s.io", kind }, "", causes)

/** @internal */
export const unsupportedMediaType = (supported: ReadonlyArray<string>): ApiError =>
  new ApiError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(", ")}`
  )

/** @internal */
export const unsupportedPatchType = (): ApiError =>
  new ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})

/** @internal */
export const notAcceptable = (): ApiError =>
  new ApiError(
    406,
    "NotAcceptable",
    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    {}
  )

/** A form for lists that is asked for of an object, or the other way round. @internal */
export const otherForm = (as: string, what: string): ApiError =>
  new ApiError(406, "NotAcceptable", `you requested ${as}, but the requested object is ${what}`)

/** @internal */
export const internal = (message: string): ApiError =>
  new ApiError(500, "InternalError", `Internal error occurred: ${message}`)

/** @internal */
export const causes = {
  invalid: (field: string, value: unknown, why: string): Cause => ({
    field,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${why}`
  }),
  required: (field: string, why: string): Cause => ({
    field,
    reason: "FieldValueRequired",
    message: why === "" ? "Required value" : `Required value: ${why}`
  }),
  forbidden: (field: string, why: string): Cause => ({
    field,
    reason: "FieldValueForbidden",
    message: `Forbidden: ${why}`
  }),
  notSupported: (field: string, value: unknown, supported: ReadonlyArray<string>): Cause => ({
    field,
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported.map((one) => `"${one}"`).join(", ")}`
  }),
  tooLong: (field: string, bytesMax: number): Cause => ({
    field,
    reason: "FieldValueTooLong",
    message: `Too long: may not be more than ${bytesMax} bytes`
  })
}
