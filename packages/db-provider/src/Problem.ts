/**
 * What the API answers when it does not do what was asked: problem documents as RFC 9457 has them, for every refusal there is.
 *
 * **Guarantees**
 * - D19: the codes are a closed vocabulary. Each has one status, one title, and says whether the same request may succeed later.
 * - D7: `detail` is written by the provider for the caller; nothing of an error's own text, and no token or password, is in it.
 *
 * @since 0.1.0
 */
import { Data, Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

interface Kind {
  readonly status: number
  readonly title: string
  readonly retryable: boolean
}

const kinds = {
  invalid_request: { status: 400, title: "The request is not valid", retryable: false },
  unauthorized: { status: 401, title: "The token is not accepted", retryable: false },
  consumer_disabled: { status: 403, title: "The consumer is disabled", retryable: false },
  quota_exceeded: { status: 403, title: "The quota is used up", retryable: false },
  database_not_found: { status: 404, title: "There is no such database", retryable: false },
  path_not_found: { status: 404, title: "There is no such path", retryable: false },
  method_not_allowed: { status: 405, title: "The path has no such method", retryable: false },
  request_timeout: { status: 408, title: "The request did not arrive in time", retryable: true },
  parameters_differ: { status: 409, title: "The database was asked for with other parameters", retryable: false },
  being_deleted: { status: 409, title: "The database is being deleted", retryable: true },
  id_taken: { status: 409, title: "The id belongs to an earlier consumer of this name", retryable: false },
  database_deleted: { status: 410, title: "The database was deleted", retryable: false },
  body_too_large: { status: 413, title: "The body is too large", retryable: false },
  path_too_long: { status: 414, title: "The path is too long", retryable: false },
  unsupported_media_type: { status: 415, title: "The body is not JSON", retryable: false },
  expectation_failed: { status: 417, title: "The expectation cannot be met", retryable: false },
  too_many_requests: { status: 429, title: "Too many requests", retryable: true },
  headers_too_large: { status: 431, title: "The headers are too large", retryable: false },
  internal: { status: 500, title: "The provider failed", retryable: true },
  unavailable: { status: 503, title: "The provider cannot answer now", retryable: true },
  shutting_down: { status: 503, title: "The provider is shutting down", retryable: true }
} as const satisfies Record<string, Kind>

/**
 * Why a request was not done.
 *
 * **Details**
 * | code | status | retryable | what happened | what the caller does |
 * |---|---|---|---|---|
 * | `invalid_request` | 400 | no | an id, a body or a parameter is not as it has to be; `detail` names it | correct it |
 * | `unauthorized` | 401 | no | no token, or one that is not known or has expired | use another token |
 * | `consumer_disabled` | 403 | no | whoever runs the provider disabled this consumer | ask them |
 * | `quota_exceeded` | 403 | no | the consumer has all databases that it may have; deleted ones count until they are dropped | delete something, or ask for more |
 * | `database_not_found` | 404 | no | the consumer has no such database | |
 * | `path_not_found` | 404 | no | the API has no such path | see `/openapi.json` |
 * | `method_not_allowed` | 405 | no | the path has other methods; `Allow` names them | |
 * | `request_timeout` | 408 | yes | the request came too slowly | send it again |
 * | `parameters_differ` | 409 | no | this id was asked for with other labels or another selector | use another id |
 * | `being_deleted` | 409 | yes | the database is kept for its grace period, or is being dropped | wait until it is dropped, or use another id |
 * | `id_taken` | 409 | no | the record is of an earlier consumer of the same name | use another id, or ask whoever runs the provider |
 * | `database_deleted` | 410 | no | there was such a database, and it was dropped | ask for it anew, if it is wanted |
 * | `body_too_large`, `path_too_long`, `headers_too_large` | 413, 414, 431 | no | more than the API reads | |
 * | `unsupported_media_type` | 415 | no | the body is something other than `application/json` | |
 * | `expectation_failed` | 417 | no | an `Expect` other than `100-continue` | |
 * | `too_many_requests` | 429 | yes | more requests than one consumer may send, or too many refused tokens | wait for `Retry-After` |
 * | `internal` | 500 | yes | a mistake in the provider: its log has the request's id | report it |
 * | `unavailable` | 503 | yes | the provider's cluster is out of reach, or not read yet | wait for `Retry-After` |
 * | `shutting_down` | 503 | yes | this replica ends; another one answers | wait for `Retry-After` |
 *
 * @category models
 * @since 0.1.0
 */
export type Code = keyof typeof kinds

type StatusOf<C extends Code> = (typeof kinds)[C]["status"]

type CodeOf<S extends number> = { readonly [C in Code]: StatusOf<C> extends S ? C : never }[Code]

/**
 * A refusal, before it is an answer.
 *
 * @category errors
 * @since 0.1.0
 */
export class Problem extends Data.TaggedError("Problem")<{
  readonly code: Code
  /** For the caller: what is wrong with this request. */
  readonly detail: string
  /** After how long the same request is worth sending again. */
  readonly retryAfterSeconds?: number | undefined
}> {
  override get message() {
    return `${this.code}: ${this.detail}`
  }
}

/**
 * @category getters
 * @since 0.1.0
 */
export const statusOf = (code: Code): number => kinds[code].status

/**
 * How a document looks on the wire.
 *
 * @category models
 * @since 0.1.0
 */
export interface Document<out C extends Code = Code> {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: C
  readonly requestId: string
  readonly retryable: boolean
  readonly retryAfterSeconds?: number
}

/**
 * The document that says it.
 *
 * @category conversions
 * @since 0.1.0
 */
export const document = ({ code, detail, retryAfterSeconds }: Problem, requestId: string): Document => {
  const { retryable, status, title } = kinds[code]
  const type = `tag:berth.dev,2026:problem/${code}`
  const said = { type, title, status, detail, code, requestId, retryable }
  return retryAfterSeconds === undefined ? said : { ...said, retryAfterSeconds }
}

/**
 * The media type of problem documents.
 *
 * @category constants
 * @since 0.1.0
 */
export const contentType = "application/problem+json"

const schema = <const S extends number, const C extends CodeOf<S>>(
  name: string,
  status: S,
  codes: readonly [C, ...ReadonlyArray<C>]
) =>
  Schema.Struct({
    type: Schema.String.annotate({ description: "A URI that names the sort of problem." }),
    title: Schema.String.annotate({ description: "The sort of problem, for people." }),
    status: Schema.Literal(status),
    detail: Schema.String.annotate({ description: "What is wrong with this request." }),
    code: Schema.Literals(codes),
    requestId: Schema.String.annotate({ description: "By which the provider's logs know the request." }),
    retryable: Schema.Boolean.annotate({ description: "Whether the same request may succeed later." }),
    retryAfterSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))).annotate(
      {
        description: "As the header Retry-After."
      }
    )
  })
    .annotate({ identifier: name, description: codes.map((code) => kinds[code].title).join("; ") })
    .pipe(HttpApiSchema.status(status), HttpApiSchema.asJson({ contentType }))

/**
 * The documents that an operation of the API may be answered with, for its definition.
 *
 * @category schemas
 * @since 0.1.0
 */
export const schemas = {
  invalid: schema("InvalidRequest", 400, ["invalid_request"]),
  unauthorized: schema("Unauthorized", 401, ["unauthorized"]),
  disabled: schema("ConsumerDisabled", 403, ["consumer_disabled"]),
  quota: schema("QuotaExceeded", 403, ["quota_exceeded"]),
  notFound: schema("DatabaseNotFound", 404, ["database_not_found"]),
  conflict: schema("Conflict", 409, ["parameters_differ", "being_deleted", "id_taken"]),
  gone: schema("DatabaseDeleted", 410, ["database_deleted"]),
  tooLarge: schema("BodyTooLarge", 413, ["body_too_large"]),
  mediaType: schema("UnsupportedMediaType", 415, ["unsupported_media_type"]),
  tooMany: schema("TooManyRequests", 429, ["too_many_requests"]),
  internal: schema("Internal", 500, ["internal"]),
  unavailable: schema("Unavailable", 503, ["unavailable", "shutting_down"])
}
