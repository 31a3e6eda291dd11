/**
 * A client of the database provider's API, typed by the same definition as the server.
 *
 * **Guarantees**
 * - D21: requests are encoded and answers decoded by {@link Api.Api}; whatever else comes back is {@link UnexpectedAnswer}.
 * - D7: neither token nor password is in an error or a log; passwords are `Redacted`.
 * - Only https is spoken, with a certificate that is verified; redirects are not followed, so that the token goes to this server alone.
 *
 * **Caveats**
 * - Nothing is retried here. `put`, `get`, `list` and `remove` are idempotent: whoever calls them may.
 *
 * @since 0.1.0
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { ByteSize, Data, Duration, Effect, Option, Redacted, Schema, type Scope, Stream } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, HttpIncomingMessage } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import * as Api from "./Api.ts"
import { ExternalId } from "./internal/fields.ts"
import type * as Problem from "./Problem.ts"

/**
 * Which provider, and who asks.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** `https://HOST:PORT`, and a path where the API is behind one. */
  readonly baseUrl: string
  /** Space around it, as files and Secrets often have, is taken off. */
  readonly token: Redacted.Redacted
  /** The certificates, as PEM, of the authorities to trust, in place of those that the system trusts. */
  readonly caBundle?: string | undefined
  /** How long an answer may take, beside what was asked to `wait`. Default 30 s. */
  readonly timeout?: Duration.Input | undefined
}

/**
 * What was given cannot be used.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidOptions extends Data.TaggedError("InvalidOptions")<{
  readonly option: "baseUrl" | "token"
  readonly why: string
}> {
  override get message() {
    return `${this.option}: ${this.why}`
  }
}

/**
 * The provider answered that it does not do it: the problem document.
 *
 * **Details**: `Problem.Code` says what each code means. A request that the client itself finds invalid is not sent: then `code` is
 * `invalid_request` and `requestId` is empty.
 *
 * @category errors
 * @since 0.1.0
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- which codes a call may be refused with is what it is for
export class Refused<out C extends Problem.Code = Problem.Code> extends Data.TaggedError("Refused")<{
  readonly code: C
  readonly status: number
  /** Made by the provider to be shown. */
  readonly detail: string
  /** By which the provider's logs know the request. */
  readonly requestId: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  readonly retryAfter: Option.Option<Duration.Duration>
}> {
  override get message() {
    return `the database provider refused with ${this.code}: ${this.detail}`
  }
}

/**
 * There was no answer. The request may have taken effect.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unreachable extends Data.TaggedError("Unreachable")<{
  /** A code such as `ECONNREFUSED`, `UND_ERR_CONNECT_TIMEOUT`, `SELF_SIGNED_CERT_IN_CHAIN` or `timeout`. */
  readonly why: string
}> {
  override get message() {
    return `the database provider cannot be reached: ${this.why}`
  }
}

/**
 * Something answered that is not this API.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnexpectedAnswer extends Data.TaggedError("UnexpectedAnswer")<{
  /** The HTTP status, where there was one. */
  readonly status: Option.Option<number>
}> {
  override get message() {
    const status = Option.match(this.status, { onNone: () => "", onSome: (code) => ` with status ${code}` })
    return `the answer${status} is not one of a database provider's`
  }
}

type Failed<C extends Problem.Code> = Refused<C> | Unreachable | UnexpectedAnswer

/**
 * Why a call failed.
 *
 * @category errors
 * @since 0.1.0
 */
export type ClientError = Failed<Problem.Code>

/**
 * What became of a request for a database.
 *
 * @category models
 * @since 0.1.0
 */
export type Put =
  | {
      readonly _tag: "Ready"
      /** Whether this very request made it. */
      readonly isNew: boolean
      readonly database: Api.ReadyDatabase
    }
  /** The phase of `database` says how far it is, and its reason what keeps it. */
  | { readonly _tag: "Pending"; readonly database: Api.Summary; readonly retryAfter: Duration.Duration }

/**
 * What became of a deletion.
 *
 * @category models
 * @since 0.1.0
 */
export type Remove =
  /** Nobody is connected, and nobody can log in. */
  | { readonly _tag: "Closed"; readonly database: Api.Summary }
  | { readonly _tag: "Closing"; readonly database: Api.Summary; readonly retryAfter: Duration.Duration }

/**
 * @category models
 * @since 0.1.0
 */
export interface Waiting {
  /** For how long the provider may wait before it answers that it is not done; whole seconds, a minute at most. Default: not at all. */
  readonly wait?: Duration.Input | undefined
}

/** What every call may be refused for. */
type Common =
  | "invalid_request"
  | "unauthorized"
  | "consumer_disabled"
  | "too_many_requests"
  | "internal"
  | "unavailable"
  | "shutting_down"

type Conflicting = "quota_exceeded" | "parameters_differ" | "being_deleted" | "id_taken"

type Missing = "database_not_found" | "database_deleted"

/**
 * The calls of the API.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProviderClient {
  /** Asks for a database: there is one of this id, however often it is asked for. */
  readonly put: (
    id: string,
    options?: Api.Parameters & Waiting
  ) => Effect.Effect<Put, Failed<Common | Conflicting | "body_too_large" | "unsupported_media_type">>
  /** Reads a database, with its credentials once it is ready. */
  readonly get: (id: string) => Effect.Effect<Api.Database, Failed<Common | Missing>>
  /** Closes a database, of which the data is dropped after its grace period. */
  readonly remove: (id: string, options?: Waiting) => Effect.Effect<Remove, Failed<Common | Missing>>
  /** One page. */
  readonly list: (options?: {
    readonly cursor?: string | undefined
    readonly limit?: number | undefined
  }) => Effect.Effect<Api.Page, Failed<Common>>
  /** Every page, one after the other. */
  readonly all: Stream.Stream<Api.Summary, Failed<Common>>
}

/** Of any answer more is not read. */
const bodyMax = ByteSize.mebibytes(4)

const preferring = ({ wait }: Waiting) => {
  const seconds = wait === undefined ? 0 : Math.min(Api.waitMaxSeconds, Math.ceil(Duration.toSeconds(wait)))
  return { seconds, headers: seconds > 0 ? { prefer: `wait=${seconds}` } : {} }
}

type Answered<C extends Problem.Code> = Problem.Document<C> | HttpClientError.HttpClientError | Schema.SchemaError

const refusal = <C extends Problem.Code>({ code, detail, requestId, retryable, ...rest }: Problem.Document<C>) =>
  new Refused<C>({
    code,
    detail,
    requestId,
    retryable,
    status: rest.status,
    retryAfter: Option.map(Option.fromUndefinedOr(rest.retryAfterSeconds), (seconds) => Duration.seconds(seconds))
  })

const whyOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : "no answer"

const failureOf = <C extends Problem.Code>(error: Answered<C>): Failed<C> => {
  if (!("_tag" in error)) return refusal(error)
  if (error._tag === "SchemaError") return new UnexpectedAnswer({ status: Option.none() })
  return error.reason._tag === "TransportError"
    ? new Unreachable({ why: whyOf(error.reason.cause) })
    : new UnexpectedAnswer({ status: Option.fromUndefinedOr(error.response?.status) })
}

/** A call as it is sent, with its limit of time and its failures told apart. */
const calling =
  (patience: Duration.Duration) =>
  <A, C extends Problem.Code>(call: Effect.Effect<A, Answered<C>>, waitSeconds = 0): Effect.Effect<A, Failed<C>> =>
    call.pipe(
      Effect.mapError(failureOf),
      Effect.timeoutOrElse({
        duration: Duration.sum(patience, Duration.seconds(waitSeconds)),
        orElse: () => Effect.fail(new Unreachable({ why: "timeout" }))
      }),
      Effect.provideService(HttpIncomingMessage.MaxBodySize, bodyMax)
    )

const unsent = (detail: string) =>
  new Refused({
    code: "invalid_request",
    status: 400,
    detail,
    requestId: "",
    retryable: false,
    retryAfter: Option.none()
  })

const decodeId = Schema.decodeEffect(ExternalId)
const decodeParameters = Schema.decodeUnknownEffect(Api.Parameters)
const decodeQuery = Schema.decodeUnknownEffect(Schema.toType(Api.Query))

const idOf = (id: string) =>
  Effect.mapError(decodeId(id), () =>
    unsent(
      "an id has 1 to 128 letters, digits, hyphens, underscores, dots and colons, and begins and ends with a letter or digit"
    )
  )

const parametersOf = ({ labels, shardSelector }: Api.Parameters) =>
  Effect.mapError(
    decodeParameters({
      ...(labels === undefined ? {} : { labels }),
      ...(shardSelector === undefined ? {} : { shardSelector })
    }),
    () => unsent("labels and selectors are those of Kubernetes, 16 at most")
  )

const queryOf = ({ cursor, limit }: { readonly cursor?: string | undefined; readonly limit?: number | undefined }) =>
  Effect.mapError(
    decodeQuery({ ...(cursor === undefined ? {} : { cursor }), ...(limit === undefined ? {} : { limit }) }),
    () => unsent(`a page has 1 to ${Api.pageMax} databases, and begins where \`next\` of another one says`)
  )

const checked = Effect.fnUntraced(function* ({ baseUrl, token }: Options) {
  const url = yield* Effect.try({
    try: () => new URL(baseUrl),
    catch: () => new InvalidOptions({ option: "baseUrl", why: "it is no URL" })
  })
  if (url.protocol !== "https:") {
    return yield* new InvalidOptions({ option: "baseUrl", why: "it has to begin with https://" })
  }
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "") {
    return yield* new InvalidOptions({ option: "baseUrl", why: "it has to be host, port and path alone" })
  }
  const text = Redacted.value(token).trim()
  if (!/^[\x21-\x7e]+$/u.test(text)) {
    return yield* new InvalidOptions({ option: "token", why: "it is empty, or has other characters than ASCII's" })
  }
  return { url: url.href, token: Redacted.make(text) }
})

/**
 * A client, with connections of its own that are closed with the scope.
 *
 * **Errors**: {@link InvalidOptions}. Nothing is sent yet.
 *
 * **Example** (A database for a branch)
 * ```ts
 * import * as Provider from "@berth/db-provider/client"
 * import { Effect, Redacted } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const provider = yield* Provider.make({
 *     baseUrl: "https://databases.example.com:8443",
 *     token: Redacted.make("read it from a Secret")
 *   })
 *   const put = yield* provider.put("branch-1", { labels: { team: "a" }, wait: "30 seconds" })
 *   if (put._tag === "Pending") return yield* Effect.logInfo(`not ready yet: ${put.database.phase}`)
 *   const { host, password, user } = put.database.connection
 *   yield* Effect.logInfo("ready", { host, user, password })
 * }).pipe(
 *   Effect.catchTag("Refused", ({ code, retryable }) => Effect.logError(`refused: ${code}`, { retryable })),
 *   Effect.scoped
 * )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fn("client.make")(function* (
  options: Options
): Effect.fn.Return<ProviderClient, InvalidOptions, Scope.Scope> {
  const { token, url } = yield* checked(options)
  const { caBundle, timeout = "30 seconds" } = options
  const dispatcher = yield* NodeHttpClient.makeDispatcherOptions(
    caBundle === undefined ? {} : { connect: { ca: caBundle } }
  )
  const httpClient = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)
  const api = yield* HttpApiClient.makeWith(Api.Api, {
    baseUrl: url,
    httpClient: HttpClient.mapRequest(httpClient, HttpClientRequest.bearerToken(token))
  })
  const call = calling(Duration.fromInputUnsafe(timeout))

  const put = Effect.fn("client.put")(function* (id: string, options: Api.Parameters & Waiting = {}) {
    const { headers, seconds } = preferring(options)
    const params = { id: yield* idOf(id) }
    const payload = yield* parametersOf(options)
    const request = { params, headers, payload, responseMode: "decoded-and-response" } as const
    const [{ body, headers: said }, { status }] = yield* call(api.putDatabase(request), seconds)
    if ("connection" in body) return { _tag: "Ready", isNew: status === 201, database: body } as const
    return { _tag: "Pending", database: body, retryAfter: retryAfterOf(said) } as const
  })

  const get = Effect.fn("client.get")(function* (id: string) {
    return yield* call(api.getDatabase({ params: { id: yield* idOf(id) } }))
  })

  const remove = Effect.fn("client.remove")(function* (id: string, options: Waiting = {}) {
    const { headers, seconds } = preferring(options)
    const params = { id: yield* idOf(id) }
    const { body, headers: said } = yield* call(api.deleteDatabase({ params, headers }), seconds)
    if (!("retry-after" in said)) return { _tag: "Closed", database: body } as const
    return { _tag: "Closing", database: body, retryAfter: retryAfterOf(said) } as const
  })

  const list: ProviderClient["list"] = Effect.fn("client.list")(function* (options = {}) {
    return yield* call(api.listDatabases({ query: yield* queryOf(options) }))
  })

  const all: ProviderClient["all"] = Stream.paginate(Option.none<string>(), (cursor) =>
    Effect.map(list({ cursor: Option.getOrUndefined(cursor) }), ({ items, next }) => [
      items,
      next === undefined ? Option.none() : Option.some(Option.some(next))
    ])
  )

  return { put, get, remove, list, all }
})

const retryAfterOf = (headers: { readonly "preference-applied"?: string; readonly "retry-after"?: number }) =>
  Duration.seconds(headers["retry-after"] ?? 1)
