/** Around everything that the API answers: no request is without an id, a limit and an answer, and no answer is but JSON. */
import { ByteSize, Cause, Clock, Duration, Effect, Option } from "effect"
import { HttpIncomingMessage, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { Problem } from "../../Problem.ts"
import * as Problems from "../../Problem.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { refusal } from "./answers.ts"
import { invalid } from "./invalid.ts"
import * as RequestIds from "./requestId.ts"
import { hasParametersInVain, routeOf } from "./routes.ts"

const bodyMax = ByteSize.kibibytes(16)
const pathMax = 2_048

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

export const shuttingDown = new Problem({
  code: "shutting_down",
  detail: "this replica of the provider ends; ask again",
  retryAfterSeconds: 1
})

const internal = new Problem({
  code: "internal",
  detail: "the provider failed; its log says why, under the id of this request",
  retryAfterSeconds: 2
})

const tooLarge = new Problem({ code: "body_too_large", detail: "a body has 16 KiB at most" })
const broken = new Problem({ code: "invalid_request", detail: "the body broke off" })

/** By the status of what the libraries answer by themselves. */
const byStatus: ReadonlyMap<number, Problem> = new Map([
  [400, new Problem({ code: "invalid_request", detail: "the request cannot be understood" })],
  [404, new Problem({ code: "path_not_found", detail: "the API has no such path" })],
  [413, tooLarge],
  [415, new Problem({ code: "unsupported_media_type", detail: "a body has to be application/json" })],
  [503, shuttingDown]
])

const unrouted = ({ method, url }: Request): Effect.Effect<Response> =>
  Option.match(routeOf(url), {
    onNone: () => refusal(new Problem({ code: "path_not_found", detail: "the API has no such path" })),
    onSome: ({ methods }) => {
      const allow = methods.join(", ")
      const detail = `${method} is not one of the path's methods: ${allow}`
      return refusal(new Problem({ code: "method_not_allowed", detail: detail.slice(0, 200) }), { allow })
    }
  })

const parseFailure = ({ reason }: HttpServerError.RequestParseError): Problem =>
  reason === "BodyTooLarge" ? tooLarge : broken

/** What the libraries fail or die with. */
const ofFailure = (request: Request, failure: unknown): Option.Option<Effect.Effect<Response>> => {
  if (HttpApiError.HttpApiSchemaError.is(failure)) return Option.map(invalid(failure), (problem) => refusal(problem))
  if (!HttpServerError.isHttpServerError(failure)) return Option.none()
  const { reason } = failure
  if (reason._tag === "RouteNotFound") return Option.some(unrouted(request))
  return reason._tag === "RequestParseError" ? Option.some(refusal(parseFailure(reason))) : Option.none()
}

/** Nobody reads it; the metrics tell it from what the provider does. */
const aborted = HttpServerResponse.empty({ status: 499 })

const isAborted = (reason: Cause.Reason<unknown>): boolean => reason.annotations.has(HttpServerError.ClientAbort.key)

const ofCause = (request: Request, cause: Cause.Cause<unknown>): Effect.Effect<Response> => {
  if (Cause.hasInterruptsOnly(cause)) {
    return cause.reasons.some(isAborted) ? Effect.succeed(aborted) : refusal(shuttingDown)
  }
  const known = cause.reasons.flatMap((reason) => {
    if (reason._tag === "Interrupt") return []
    return Option.toArray(ofFailure(request, reason._tag === "Fail" ? reason.error : reason.defect))
  })
  return known[0] ?? Effect.andThen(Effect.logError("a request was not answered", cause), refusal(internal))
}

const isProblem = ({ headers }: Response) => headers["content-type"] === Problems.contentType

/** Of those of the libraries none has a body that we want. */
const inOurWords = (response: Response): Effect.Effect<Response> =>
  response.status < 400 || isProblem(response)
    ? Effect.succeed(response)
    : refusal(byStatus.get(response.status) ?? internal)

/** Whatever is not of these is escaped in a path: a router may take it for the end of one. */
const target = /^[-A-Za-z0-9._~%!$&'()*+,=:@/]*(?:\?[^#]*)?$/u

/** One name, and a port: of several headers the values are joined by commas. */
const host = /^[-A-Za-z0-9._~%:[\]]*$/u

const isDecodable = (url: string): boolean => {
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

const unusable = (detail: string): Problem => new Problem({ code: "invalid_request", detail })

/** The first that a request offends is its answer. */
const rules: ReadonlyArray<{ readonly offends: (request: Request) => boolean; readonly problem: Problem }> = [
  { offends: ({ headers }) => headers["host"] === undefined, problem: unusable("the header Host is missing") },
  { offends: ({ headers }) => !host.test(headers["host"] ?? ""), problem: unusable("the header Host is not one name") },
  {
    offends: ({ headers }) => (headers["content-encoding"] ?? "identity").toLowerCase() !== "identity",
    problem: new Problem({ code: "unsupported_media_type", detail: "a body has to be without a coding" })
  },
  {
    offends: ({ url }) => url.length > pathMax,
    problem: new Problem({ code: "path_too_long", detail: `a path has ${pathMax} characters at most` })
  },
  { offends: ({ url }) => !isDecodable(url), problem: unusable("the path has an escape that is none") },
  { offends: ({ url }) => !target.test(url), problem: unusable("the path has a character that has to be escaped") },
  // One that is misspelt, or is another operation's, would be of no effect.
  { offends: ({ url }) => hasParametersInVain(url), problem: unusable("the path takes no parameters") }
]

const refusedAtOnce = (request: Request): Problem | undefined => rules.find(({ offends }) => offends(request))?.problem

const common = (requestId: string, isStopping: boolean) => ({
  [RequestIds.header]: requestId,
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  ...(isStopping ? { connection: "close" } : {})
})

/** Interruption comes from outside: it is answered as well. */
export const guarded = <E, R>(
  app: Effect.Effect<Response, E, R>,
  isStopping: () => boolean
): Effect.Effect<Response, never, R | HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const requestId = RequestIds.from(request.headers[RequestIds.header])
    const since = yield* Clock.monotonicTimeNanos
    const refused = refusedAtOnce(request)
    const served: Effect.Effect<Response, E, R> =
      refused === undefined ? Effect.flatMap(app, inOurWords) : refusal(refused)
    const response = yield* served.pipe(
      Effect.catchCause((cause) => ofCause(request, cause)),
      Effect.provideService(RequestIds.RequestId, requestId),
      Effect.provideService(HttpIncomingMessage.MaxBodySize, bodyMax),
      Effect.annotateLogs({ requestId })
    )
    const took = Duration.nanos((yield* Clock.monotonicTimeNanos) - since)
    const route = Option.match(routeOf(request.url), { onNone: () => "other", onSome: ({ name }) => name })
    yield* ProviderMetrics.answered({ method: methodOf(request), route, status: response.status }, took)
    return HttpServerResponse.setHeaders(response, common(requestId, isStopping()))
  })

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "PUT", "DELETE"])

/** Callers may make methods up, and a label must not be theirs. */
const methodOf = ({ method }: Request): string => (methods.has(method) ? method : "other")
