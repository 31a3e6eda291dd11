/**
 * A program's health and metrics over HTTP: `/livez`, `/readyz` and `/metrics`.
 *
 * **Guarantees**
 * - K30: `/livez` fails only for what a restart mends, and `/readyz` says what is not ready, a line for each check.
 * - Nothing but these three paths is answered, with GET and HEAD only; slow clients are cut off.
 *
 * @since 0.1.0
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Data, Effect, Option, type Scope } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { Health, type Probe, type Report } from "./Health.ts"

/**
 * Where to listen; port 0 takes a free one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listen {
  readonly host: string
  readonly port: number
}

/**
 * Why a server cannot listen, and what to do about it.
 *
 * **Details**: `flag` is how whoever starts the program says the address.
 *
 * @category conversions
 * @since 0.1.0
 */
export const listenProblem = ({ code, host, port }: Listen & { readonly code: string }, flag: string): string =>
  `cannot listen on ${host}:${port} (${code}): ${advice(code, flag)}`

const advice = (code: string, flag: string): string => {
  switch (code) {
    case "EADDRINUSE":
      return `something else does; end that, or choose another address with ${flag}`
    case "EACCES":
      return `ports below 1024 need a privilege that this user lacks; choose a higher one with ${flag}`
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `that is no address of this machine; choose one with ${flag}, such as 0.0.0.0:8080`
    default:
      return `choose another address with ${flag}`
  }
}

/**
 * The address cannot be listened on.
 *
 * @category errors
 * @since 0.1.0
 */
export class ListenFailed extends Data.TaggedError("ListenFailed")<Listen & { readonly code: string }> {
  override get message() {
    return listenProblem(this, "--listen")
  }
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const text = (status: number, body: string): Answer => ({
  status,
  type: "text/plain; charset=utf-8",
  body: `${body}\n`
})

/** As Kubernetes' own components write it, so that people read it without learning. */
const lines = ({ checks, passing }: Report): string =>
  [
    ...checks.map(({ name, problem }) =>
      Option.match(problem, { onNone: () => `[+] ${name} ok`, onSome: (why) => `[-] ${name} failed: ${why}` })
    ),
    passing ? "ok" : "not ok"
  ].join("\n")

const probe = (which: Probe) =>
  Effect.map(
    Effect.flatMap(Health, (health) => health.report(which)),
    (report) => text(report.passing ? 200 : 503, lines(report))
  )

const metrics = Effect.map(PrometheusMetrics.format(), (body): Answer => ({
  status: 200,
  type: "text/plain; version=0.0.4; charset=utf-8",
  body
}))

const route = ({ method, url = "" }: IncomingMessage): Effect.Effect<Answer, never, Health> => {
  if (method !== "GET" && method !== "HEAD") return Effect.succeed(text(405, "only GET and HEAD are served"))
  switch (url.replace(/\?.*$/u, "")) {
    case "/livez":
      return probe("live")
    case "/readyz":
      return probe("ready")
    case "/metrics":
      return metrics
    default:
      return Effect.succeed(text(404, "there are /livez, /readyz and /metrics"))
  }
}

/** Whatever goes wrong, the client hears of it: without an answer it would wait. */
const answered = (request: IncomingMessage) =>
  Effect.catchCause(route(request), (cause) =>
    Effect.as(Effect.logError("health and metrics: no answer", cause), text(500, "this failed: see the log"))
  )

/** Node looks for slow clients at intervals, of half a minute by default. */
const limits = (clientMs: number) => ({
  headersTimeout: clientMs,
  requestTimeout: clientMs,
  keepAliveTimeout: clientMs,
  connectionsCheckingInterval: Math.ceil(clientMs / 5)
})

const send = (response: ServerResponse, { body, status, type }: Answer, method: string | undefined) => {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store", "x-content-type-options": "nosniff" })
  response.end(method === "HEAD" ? undefined : body)
}

const listening = (server: Server, { host, port }: Listen) =>
  Effect.callback<number, ListenFailed>((resume) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.fail(new ListenFailed({ host, port, code: error.code ?? "unknown" })))
    )
    server.listen(port, host, () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

/**
 * Serves until the scope closes; returns the port.
 *
 * **Details**: `clientMs` is how long a client may take to send its request, and to send nothing on a connection that it keeps.
 * Default 5 s.
 *
 * **Errors**: {@link ListenFailed}.
 *
 * **Example** (Beside something else that the program does)
 * ```ts
 * import { Health } from "@berth/kube/Health"
 * import * as HealthServer from "@berth/kube/HealthServer"
 * import { Effect } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const port = yield* HealthServer.serve({ host: "127.0.0.1", port: 0 })
 *   yield* Effect.logInfo(`health and metrics are on port ${port}`)
 *   return yield* Effect.never
 * }).pipe(Effect.scoped, Effect.provide(Health.layer))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const serve = Effect.fn("HealthServer.serve")(function* (
  listen: Listen,
  { clientMs = 5_000 }: { readonly clientMs?: number | undefined } = {}
): Effect.fn.Return<number, ListenFailed, Health | Scope.Scope> {
  const context = yield* Effect.context<Health>()
  const run = Effect.runForkWith(context)
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createServer(limits(clientMs), (request, response) => {
        run(Effect.map(answered(request), (answer) => send(response, answer, request.method)))
      })
    ),
    (opened) =>
      Effect.callback<void>((resume) => {
        opened.close(() => resume(Effect.void))
        opened.closeAllConnections()
      })
  )
  return yield* listening(server, listen)
})
