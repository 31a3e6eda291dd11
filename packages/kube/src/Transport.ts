/**
 * Carries requests to one API server and answers back, without knowing what they mean. It is the one place where HTTP is
 * spoken: replace or wrap this service to count requests, to answer them from memory, or to inject faults.
 *
 * **Guarantees**
 * - K2: one pool of kept-alive connections per cluster. Certificates, tokens and exec credentials are read anew when
 *   they are due, and once more when the server answers 401, before that answer is handed on.
 * - K29: `rest_client_requests_total` counts what was sent, by status code, method and host. The span of whoever asks says which
 *   server answered.
 * - K6: no header, token or body is in any error or log.
 *
 * **Caveats**
 * - HTTP/1.1 only: each watch has a connection of its own, so that a stuck one holds up nothing else.
 *
 * @since 0.1.0
 */
import { Context, Effect, Layer, Redacted, type Scope, Stream } from "effect"
import type { Connection } from "./Connection.ts"
import * as Credentials from "./internal/credentials.ts"
import * as Pool from "./internal/pool.ts"
import * as RequestCounts from "./internal/requestCounts.ts"
import { version } from "./internal/version.ts"
import * as KubeError from "./KubeError.ts"

/**
 * One request, as it goes over the wire, except for the credentials.
 *
 * @category models
 * @since 0.1.0
 */
export interface TransportRequest {
  /** What it is about, for errors and for telling requests apart. */
  readonly about: KubeError.Request
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** With the query, from the root of the API. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/**
 * An answer whose headers have arrived. Read either `text` or `body`, once.
 *
 * @category models
 * @since 0.1.0
 */
export interface TransportResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The whole body. */
  readonly text: Effect.Effect<string, KubeError.Unreachable>
  /** The body as it arrives. */
  readonly body: Stream.Stream<Uint8Array, KubeError.Unreachable>
}

/**
 * The way to one API server.
 *
 * **Details**: interrupting the effect, or closing its scope, aborts the HTTP request. It has no deadline of its own.
 *
 * **Errors**: `Unreachable` when there is no connection or no credentials, or when it breaks. `Timeout` is never raised by
 * {@link layer}; a wrapper may.
 *
 * @category services
 * @since 0.1.0
 */
export class Transport extends Context.Service<
  Transport,
  {
    readonly request: (
      request: TransportRequest
    ) => Effect.Effect<TransportResponse, KubeError.Unreachable | KubeError.Timeout, Scope.Scope>
  }
>()("@berth/kube/Transport") {}

/**
 * An answer made by hand, for transports that answer from memory.
 *
 * @category constructors
 * @since 0.1.0
 */
export const response = (
  status: number,
  body: string | Stream.Stream<Uint8Array, KubeError.Unreachable>,
  headers: Readonly<Record<string, string>> = { "content-type": "application/json" }
): TransportResponse =>
  typeof body === "string"
    ? { status, headers, text: Effect.succeed(body), body: Stream.make(new TextEncoder().encode(body)) }
    : { status, headers, text: Stream.mkString(Stream.decodeText(body)), body }

/**
 * HTTP over the network. The pool is closed with the layer.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (connection: Connection): Layer.Layer<Transport> =>
  Layer.effect(
    Transport,
    Effect.gen(function* () {
      const credentials = yield* Credentials.make(connection)
      const pool = yield* Pool.make(connection)
      const server = new URL(connection.server)
      const prefix = server.pathname.replace(/\/+$/, "")
      const counted = yield* RequestCounts.make(server.host)
      const port = Number(server.port === "" ? { "http:": 80, "https:": 443 }[server.protocol] : server.port)
      const asked = Effect.annotateCurrentSpan({ "server.address": server.hostname, "server.port": port })

      const send = (request: TransportRequest, identity: Credentials.Identity) =>
        Effect.mapError(
          counted(
            request.method,
            pool.request(identity, {
              method: request.method,
              path: `${prefix}${request.path}`,
              headers: { "user-agent": `berth/${version}`, ...headersOf(identity, request), ...proof(identity) },
              body: request.body
            })
          ),
          (cause) => new KubeError.Unreachable({ ...request.about, cause })
        )

      const request = Effect.fnUntraced(function* (request: TransportRequest) {
        const unavailable = (cause: unknown) => new KubeError.Unreachable({ ...request.about, cause })
        yield* asked
        const identity = yield* Effect.mapError(credentials.current, unavailable)
        const answer = yield* send(request, identity)
        if (answer.status !== 401) return fromPool(request, answer)
        const refreshed = yield* Effect.mapError(credentials.refresh(identity), unavailable)
        // The same credentials would be refused again.
        if (Credentials.same(identity, refreshed)) return fromPool(request, answer)
        // Read to its end, so that the connection can serve the next request.
        yield* Effect.ignore(answer.text)
        return fromPool(request, yield* send(request, refreshed))
      })
      return { request }
    })
  )

/** Whom a request acts for takes the place of whom the connection acts for: the two together would be somebody else again. */
const headersOf = (
  identity: Credentials.Identity,
  { headers }: TransportRequest
): Readonly<Record<string, string | ReadonlyArray<string>>> =>
  headers["impersonate-user"] === undefined ? { ...headers, ...identity.headers } : headers

const proof = ({ authorization }: Credentials.Identity): Readonly<Record<string, string>> =>
  authorization === undefined ? {} : { authorization: Redacted.value(authorization) }

const fromPool = (request: TransportRequest, answer: Pool.Answer): TransportResponse => {
  const unreachable = (cause: unknown) => new KubeError.Unreachable({ ...request.about, cause })
  return {
    status: answer.status,
    headers: answer.headers,
    text: Effect.mapError(answer.text, unreachable),
    body: Stream.mapError(answer.body, unreachable)
  }
}
