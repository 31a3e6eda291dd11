/** The pool of connections to one server, over undici. */
import { Data, Effect, Redacted, type Scope, Stream } from "effect"
import { Agent, type Dispatcher, ProxyAgent, Socks5ProxyAgent, buildConnector } from "undici"
import * as CertificateProblem from "../CertificateProblem.ts"
import type { Connection } from "../Connection.ts"
import type { Identity } from "./credentials.ts"
import { lastLook } from "./lastLook.ts"
import * as Networks from "./networks.ts"
import * as Permit from "./permit.ts"

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
  readonly text: Effect.Effect<string, ConnectionBroken>
  readonly body: Stream.Stream<Uint8Array, ConnectionBroken>
}

/**
 * A connection could not be made, or broke. Of the network's own error only the code and the message are kept: the rest
 * may hold sockets, certificates and requests.
 */
export class ConnectionBroken extends Data.TaggedError("ConnectionBroken")<{
  /** Such as `ECONNREFUSED`; empty where there is none. */
  readonly code: string
  readonly detail: string
}> {
  override get message() {
    return this.code === "" || this.detail.includes(this.code) ? this.detail : `${this.code}: ${this.detail}`
  }
}

/** Where a connection is given by other means, these are called alike. */
const settings = {
  authority: "the server's authority belongs into certificate-authority-data of the cluster in the kubeconfig",
  name: "say a name that is in it by tls-server-name of the cluster in the kubeconfig"
}

const broken = (error: unknown): ConnectionBroken => {
  // Of an attempt at several addresses, the first failure says as much as all.
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error
  if (!(inner instanceof Error)) return new ConnectionBroken({ code: "", detail: "the connection failed" })
  return new ConnectionBroken({
    code: "code" in inner ? String(inner.code) : "",
    detail: CertificateProblem.explain(inner, settings)
  })
}

const makeDispatcher = (connection: Connection, identity: Identity, guard: Networks.Guard | undefined): Dispatcher => {
  const guarded = guard === undefined ? {} : { lookup: guard.lookup }
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
  if (connection.proxyUrl === undefined) return new Agent({ ...common, connect: { ...tls, ...guarded } })
  // The server's name is looked up by the proxy, whose own name is looked up here.
  const uri = Redacted.value(connection.proxyUrl)
  return uri.startsWith("socks")
    ? new Socks5ProxyAgent(uri, {
        ...common,
        requestTls: tls,
        connect: buildConnector({ ...guarded, timeout: connectMs })
      })
    : new ProxyAgent({ ...common, uri, requestTls: tls, proxyTls: guarded })
}

/** What keeps requests from being sent at all: an address that is refused needs no lookup. */
const refusalOf = (connection: Connection, guard: Networks.Guard | undefined): ConnectionBroken | undefined => {
  const urls = [connection.server, ...(connection.proxyUrl === undefined ? [] : [Redacted.value(connection.proxyUrl)])]
  const refused = urls.some((url) => URL.canParse(url) && guard?.refuses(new URL(url).hostname) === true)
  return refused
    ? new ConnectionBroken({ code: Networks.refusedCode, detail: "the address is in a refused network" })
    : undefined
}

const sameTls = (left: Identity, right: Identity): boolean =>
  left === right ||
  (left.ca === right.ca &&
    left.certificate === right.certificate &&
    (left.key === undefined ? undefined : Redacted.value(left.key)) ===
      (right.key === undefined ? undefined : Redacted.value(right.key)))

const flatHeaders = (headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? value : value.join(", ")]]
    )
  )

const toAnswer = (data: Dispatcher.ResponseData): Answer => ({
  status: data.statusCode,
  headers: flatHeaders(data.headers),
  text: Effect.tryPromise({ try: () => data.body.text(), catch: broken }),
  body: Stream.suspend(() => Stream.fromAsyncIterable<Uint8Array, ConnectionBroken>(data.body, broken))
})

/** Whether a request failed because the server closed a connection that had been kept. */
const wasStale = ({ code }: ConnectionBroken): boolean =>
  code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE"

/** A pool whose connections live as long as the scope. A new certificate makes new connections; old ones finish. */
export const make = Effect.fnUntraced(function* (connection: Connection) {
  const origin = new URL(connection.server).origin
  const guard = Networks.guard(connection.refusedNetworks)
  const refusal = refusalOf(connection, guard)
  const open = new Set<Dispatcher>()
  let current: { readonly identity: Identity; readonly dispatcher: Dispatcher } | undefined
  yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all([...open].map((one) => one.destroy()))))

  const dispatcherFor = (identity: Identity): Dispatcher => {
    if (current !== undefined && sameTls(current.identity, identity)) return current.dispatcher
    const before = current?.dispatcher
    const dispatcher = makeDispatcher(connection, identity, guard)
    current = { identity, dispatcher }
    open.add(dispatcher)
    // What still runs on the old connections, such as watches, ends by itself.
    if (before !== undefined) void before.close().finally(() => open.delete(before))
    return dispatcher
  }

  const once = (identity: Identity, request: WireRequest, permit: Permit.Permit) =>
    Effect.acquireRelease(
      Effect.tryPromise({
        try: (signal) =>
          lastLook(dispatcherFor(identity), permit).request({
            origin,
            path: request.path,
            method: request.method,
            headers: Object.entries(request.headers).flatMap(([name, value]) =>
              [value].flat().flatMap((text) => [name, text])
            ),
            body: request.body ?? null,
            signal
          }),
        catch: broken
      }).pipe(Effect.catch((error) => (permit.holds() ? Effect.fail(error) : Effect.interrupt))),
      // A body that was not read to its end is of no use any more, nor is its connection.
      ({ body }) => Effect.sync(() => body.on("error", () => {}).destroy()),
      { interruptible: true }
    )

  const request = (identity: Identity, request: WireRequest): Effect.Effect<Answer, ConnectionBroken, Scope.Scope> => {
    if (refusal !== undefined) return Effect.fail(refusal)
    const sent = Effect.andThen(
      Permit.demand,
      Effect.flatMap(Permit.Permit, (permit) => once(identity, request, permit))
    )
    // Only a read may be sent twice, since it changes nothing.
    return Effect.map(request.method === "GET" ? Effect.retry(sent, { times: 1, while: wasStale }) : sent, toAnswer)
  }
  return { request }
})
