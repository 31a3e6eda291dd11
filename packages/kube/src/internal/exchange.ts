/** One request and its answer: its deadline, the server's pleas for patience, and what the answer means. */
import { Clock, Duration, Effect, type Scope } from "effect"
import * as Impersonation from "../Impersonation.ts"
import * as KubeError from "../KubeError.ts"
import type { Transport, TransportRequest, TransportResponse } from "../Transport.ts"
import * as Elapsed from "./elapsed.ts"
import * as Json from "./json.ts"
import * as Permit from "./permit.ts"
import * as Status from "./status.ts"

const deadlineDefault = Duration.seconds(30)

/** The wait before the next attempt where a 429 names none, and the least where it names one. */
const waitDefaultMs = 1_000
const waitMinMs = 100

export interface Call extends TransportRequest {
  readonly deadline: Duration.Input | undefined
  /** Whether answers may hold the data of a Secret, so that nothing of them may be quoted. */
  readonly secret: boolean
}

/** How long to wait before the request is sent again; undefined where it must not be. The server has not acted on either. */
const patienceMs = (status: number, retryAfterMs: number | undefined): number | undefined => {
  if (status === 429) return Math.max(retryAfterMs ?? waitDefaultMs, waitMinMs)
  return status === 503 && retryAfterMs !== undefined ? Math.max(retryAfterMs, waitMinMs) : undefined
}

/** As it is sent: for whom, if not for the program itself. */
const sentBy = (call: Call, user: string | undefined): Call =>
  user === undefined ? call : { ...call, headers: { ...call.headers, "impersonate-user": user } }

/** Sends until there is an answer other than "not now", or no time left to wait. Only success comes back. */
const accepted = Effect.fnUntraced(function* (
  transport: Transport["Service"],
  call: Call,
  deadlineMs: number
): Effect.fn.Return<TransportResponse, KubeError.KubeError, Scope.Scope> {
  const endMs = (yield* Elapsed.now) + deadlineMs
  const user = yield* Impersonation.User
  const sent = sentBy(call, user)
  if (user !== undefined) yield* Effect.annotateCurrentSpan("k8s.impersonated_user", user)
  while (true) {
    yield* Permit.demand
    const response = yield* transport.request(sent)
    yield* Effect.annotateCurrentSpan("http.response.status_code", response.status)
    yield* Effect.logDebug(`${KubeError.describe(call.about)}: ${response.status}`)
    if (response.status >= 200 && response.status < 300) return response
    const text = yield* response.text
    // It may be a date, and so is compared with the wall clock.
    const retryAfterMs = Status.retryAfterMs(response.headers["retry-after"], yield* Clock.currentTimeMillis)
    const waitMs = patienceMs(response.status, retryAfterMs)
    if (waitMs === undefined || (yield* Elapsed.now) + waitMs >= endMs) {
      return yield* Status.fromAnswer(call, { status: response.status, text, retryAfterMs })
    }
    yield* Effect.sleep(waitMs)
  }
})

/** As OpenTelemetry names them. The query is left out: it may be long, and says little. */
const attributes = ({ about, method, path }: Call): Readonly<Record<string, string>> => ({
  "http.request.method": method,
  "url.path": path.split("?")[0] ?? path,
  "k8s.resource": about.resource,
  ...(about.namespace === undefined ? {} : { "k8s.namespace.name": about.namespace }),
  ...(about.name === undefined ? {} : { "k8s.object.name": about.name })
})

/** The status where there was an answer, as OpenTelemetry has it; else what went wrong. */
const errorType = (error: KubeError.KubeError): string => ("status" in error ? String(error.status) : error._tag)

const withDeadline = <A, R>(call: Call, effect: (deadlineMs: number) => Effect.Effect<A, KubeError.KubeError, R>) => {
  const deadlineMs = Duration.toMillis(call.deadline ?? deadlineDefault)
  return Effect.timeoutOrElse(effect(deadlineMs), {
    duration: deadlineMs,
    orElse: () => Effect.fail(new KubeError.Timeout({ ...call.about, deadlineMs }))
  }).pipe(
    Effect.tapError((error) => Effect.annotateCurrentSpan("error.type", errorType(error))),
    Effect.withSpan(
      `${call.about.verb} ${call.about.resource}`,
      { kind: "client", attributes: attributes(call) },
      // Where this line is says nothing to whoever reads the trace.
      { captureStackTrace: false }
    )
  )
}

/** The answer as a map of JSON. */
export const json = (
  transport: Transport["Service"],
  call: Call
): Effect.Effect<Readonly<Record<string, unknown>>, KubeError.KubeError> =>
  withDeadline(call, (deadlineMs) =>
    Effect.scoped(
      Effect.gen(function* () {
        const response = yield* accepted(transport, call, deadlineMs)
        const map = Json.parseMap(yield* response.text)
        if (map !== undefined) return map
        // A page of something in between: its text is no business of the program's.
        return yield* new KubeError.ServerError({ ...call.about, status: response.status, reason: "", detail: "" })
      })
    )
  )

/** The answer once its headers are there; the deadline does not count for the body. */
export const opened = (
  transport: Transport["Service"],
  call: Call
): Effect.Effect<TransportResponse, KubeError.KubeError, Scope.Scope> =>
  withDeadline(call, (deadlineMs) => accepted(transport, call, deadlineMs))
