/** The pool of connections to one server, over undici. */
import { Effect, Redacted, Scope, Semaphore, Stream } from "effect"
import { Agent, type Dispatcher, ProxyAgent, Socks5ProxyAgent } from "undici"
import type { Connection } from "../Connection.ts"
import type { Identity } from "./credentials.ts"

/** How long a connection without a request is kept. Shorter than the 60 to 90 s of load balancers and API servers. */
const keepAliveMs = 30_000

/** How long a connection may take to be made. */
const connectMs = 10_000

export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body: string | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: Effect.Effect<string, Error>
  readonly body: Stream.Stream<Uint8Array, Error>
}

/**
 * What is kept of an error of the network: its code and its message. The rest of it may hold sockets, certificates and
 * requests.
 */
const reduced = (error: unknown): Error => {
  if (!(error instanceof Error)) return new Error("the connection failed")
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
  const code = "code" in inner && typeof inner.code === "string" ? inner.code : ""
  const copy = new Error(code === "" || inner.message.includes(code) ? inner.message : `${code}: ${inner.message}`)
  return Object.assign(copy, { code })
}

const makeDispatcher = (connection: Connection, identity: Identity): Dispatcher => {
  const tls = {
    ...(identity.ca === undefined ? {} : { ca: identity.ca }),
    ...(identity.certificate === undefined ? {} : { cert: identity.certificate }),
    ...(identity.key === undefined ? {} : { key: Redacted.value(identity.key) }),
    ...(connection.tlsServerName === undefined ? {} : { servername: connection.tlsServerName }),
    ...(connection.insecureSkipTlsVerify ? { rejectUnauthorized: false } : {}),
    timeout: connectMs,
    keepAlive: true,
    keepAliveInitialDelay: 30_000
  }
  // Deadlines are kept by the client, on the clock of the program.
  const common = { allowH2: false, pipelining: 1, keepAliveTimeout: keepAliveMs, headersTimeout: 0, bodyTimeout: 0 }
  if (connection.proxyUrl === undefined) return new Agent({ ...common, connect: tls })
  const uri = Redacted.value(connection.proxyUrl)
  return uri.startsWith("socks")
    ? new Socks5ProxyAgent(uri, { ...common, requestTls: tls })
    : new ProxyAgent({ ...common, uri, requestTls: tls })
}

const sameTls = (left: Identity, right: Identity): boolean =>
  left.ca === right.ca &&
  left.certificate === right.certificate &&
  (left.key === undefined ? undefined : Redacted.value(left.key)) ===
    (right.key === undefined ? undefined : Redacted.value(right.key))

const flatHeaders = (headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? value : value.join(", ")]]
    )
  )

const toAnswer = (data: Dispatcher.ResponseData): Answer => ({
  status: data.statusCode,
  headers: flatHeaders(data.headers),
  text: Effect.tryPromise({ try: () => data.body.text(), catch: reduced }),
  body: Stream.fromAsyncIterable<Uint8Array, Error>(data.body, reduced)
})

/** Whether a request failed because the server closed a connection that had been kept. */
const wasStale = (error: Error & { readonly code?: unknown }): boolean =>
  error.code === "UND_ERR_SOCKET" || error.code === "ECONNRESET" || error.code === "EPIPE"

/** A pool whose connections live as long as the scope. A new certificate makes new connections; old ones finish. */
export const make = Effect.fnUntraced(function* (connection: Connection) {
  const origin = new URL(connection.server).origin
  const scope = yield* Effect.scope
  let current: { readonly identity: Identity; readonly dispatcher: Dispatcher } | undefined

  const open = Effect.fnUntraced(function* (identity: Identity) {
    if (current !== undefined && sameTls(current.identity, identity)) return current.dispatcher
    const dispatcher = makeDispatcher(connection, identity)
    const before = current?.dispatcher
    current = { identity, dispatcher }
    // Requests that still run on the old connections, such as watches, end by themselves.
    if (before !== undefined)
      yield* Effect.forkIn(
        Effect.promise(() => before.close()),
        scope
      )
    yield* Scope.addFinalizer(
      scope,
      Effect.promise(() => dispatcher.destroy())
    )
    return dispatcher
  })
  const turn = yield* Semaphore.make(1)

  const once = (dispatcher: Dispatcher, request: WireRequest) =>
    Effect.acquireRelease(
      Effect.tryPromise({
        try: (signal) =>
          dispatcher.request({
            origin,
            path: request.path,
            method: request.method,
            headers: Object.entries(request.headers).flatMap(([name, value]) =>
              [value].flat().flatMap((text) => [name, text])
            ),
            body: request.body ?? null,
            signal
          }),
        catch: reduced
      }),
      (data) =>
        Effect.sync(() => {
          data.body.on("error", () => {})
          data.body.destroy()
        }),
      { interruptible: true }
    )

  const request = Effect.fnUntraced(function* (identity: Identity, request: WireRequest) {
    const dispatcher = yield* turn.withPermit(open(identity))
    const sent = once(dispatcher, request)
    // Only a read may be sent twice: it changes nothing.
    const data = yield* request.method === "GET" ? Effect.retry(sent, { times: 1, while: wasStale }) : sent
    return toAnswer(data)
  })
  return { request }
})
