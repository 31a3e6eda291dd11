/**
 * The API over HTTPS.
 *
 * **Guarantees**
 * - D18: TLS 1.2 or newer and nothing else: a connection that does not begin with it is cut.
 * - D19: whatever comes, the answer is JSON: a problem document where it is a refusal, also of what is not HTTP. Headers, bodies, paths,
 *   connections, and how long a request may take to arrive have bounds.
 * - D20: it serves whether or not this process leads, and whatever the shards do. When the scope closes, it goes on for `drain`, then
 *   takes no connection any more, finishes what it serves, and tells those who wait for something to come again.
 *
 * @since 0.1.0
 */
import { createServer, type Server } from "node:https"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type { Caches } from "@berth/kube/Caches"
import type { Client } from "@berth/kube/Client"
import * as HealthServer from "@berth/kube/HealthServer"
import { Context, Data, Deferred, Duration, Effect, Layer, Scope } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api, openApiPath } from "./Api.ts"
import { Audit } from "./Audit.ts"
import * as Certificates from "./Certificates.ts"
import * as Authorization from "./internal/api/authorization.ts"
import { guarded, shuttingDown } from "./internal/api/guard.ts"
import * as Handlers from "./internal/api/handlers.ts"
import { closing, listening } from "./internal/api/listening.ts"
import * as rawAnswers from "./internal/api/rawAnswers.ts"
import type * as Problem from "./Problem.ts"
import * as RateLimits from "./RateLimits.ts"
import type { Records } from "./Records.ts"
import * as Requests from "./Requests.ts"
import type { Settings } from "./Settings.ts"
import * as Tokens from "./Tokens.ts"
import * as TokenUses from "./TokenUses.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options extends Certificates.Files {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly limits?: RateLimits.Options | undefined
  /** How long a client may take to send its request. Default 10 s. */
  readonly clientMs?: number | undefined
  /** How many connections there may be. Default 1,000. */
  readonly connectionsMax?: number | undefined
  /**
   * How long it goes on taking requests when the scope closes, on connections that each of its answers ends: whoever sends requests here
   * hears only after a while that it should not any more. Default: not at all.
   */
  readonly drain?: Duration.Input | undefined
  /** How long what is being served may go on after that. Default 10 s. */
  readonly grace?: Duration.Input | undefined
  /** How often the certificate's files are read. Default 10 s. */
  readonly certificateInterval?: Duration.Input | undefined
}

/**
 * The address cannot be listened on.
 *
 * @category errors
 * @since 0.1.0
 */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{
  readonly host: string
  readonly port: number
  readonly code: string
}> {
  override get message() {
    return `the API ${HealthServer.listenProblem(this, "--api-listen")}`
  }
}

const headersMaxBytes = 16_384

const handshakeMs = 10_000

/** Longer than most balancers keep a connection, so that it is not this side that closes one while a request comes. */
const keepAliveMs = 65_000

const serverOf = ({ cert, key }: Certificates.Pair, { clientMs = 10_000, connectionsMax = 1_000 }: Options): Server => {
  const server = createServer({
    cert,
    key,
    minVersion: Certificates.minVersion,
    handshakeTimeout: handshakeMs,
    headersTimeout: clientMs,
    requestTimeout: clientMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: Math.ceil(clientMs / 5),
    maxHeaderSize: headersMaxBytes,
    // Who sends two tokens, or two hosts, must not have one of them chosen: together they are none.
    joinDuplicateHeaders: true,
    // The answer to that is a problem document, as every other.
    requireHostHeader: false
  })
  server.maxConnections = connectionsMax
  server.on("clientError", rawAnswers.answer)
  server.on("checkExpectation", rawAnswers.refuseExpectation)
  server.on("connect", rawAnswers.refuseConnect)
  server.on("request", rawAnswers.follow)
  return server
}

/** A router that takes paths as they are. */
const router = HttpRouter.layer.pipe(
  Layer.provide(
    Layer.succeed(HttpRouter.RouterConfig, {
      caseSensitive: true,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
      maxParamLength: 2_048
    })
  )
)

/**
 * Serves until the scope closes; returns the port.
 *
 * **Errors**: {@link ListenFailed}, `CertificateInvalid`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const serve = Effect.fn("ApiServer.serve")(function* (
  options: Options
): Effect.fn.Return<
  number,
  Certificates.CertificateInvalid | ListenFailed,
  Audit | Caches | Client | Records | Scope.Scope | Settings
> {
  const pair = yield* Certificates.read(options)
  const stopped = yield* Deferred.make<never, Problem.Problem>()
  let isStopping = false
  const gate = {
    audit: yield* Audit,
    limits: yield* RateLimits.make(options.limits),
    tokens: yield* Tokens.make,
    uses: yield* TokenUses.make
  }
  const requests = yield* Requests.make(Deferred.await(stopped))
  const api = HttpApiBuilder.layer(Api, { openapiPath: openApiPath }).pipe(
    Layer.provide(Handlers.layer(requests)),
    Layer.provide(Authorization.layer(gate)),
    Layer.provide(NodeHttpServer.layerHttpServices),
    Layer.provideMerge(router)
  )
  const app = Context.get(yield* Layer.build(api), HttpRouter.HttpRouter).asHttpEffect()
  // It ends after the server has ended: what is being served goes on until then.
  const serving = yield* Scope.fork(yield* Effect.scope)
  const handler = yield* NodeHttpServer.makeHandler(
    guarded(app, () => isStopping),
    { scope: serving }
  )
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => serverOf(pair, options)),
    (opened) =>
      Effect.gen(function* () {
        isStopping = true
        if (options.drain !== undefined) yield* Effect.sleep(options.drain)
        yield* Deferred.fail(stopped, shuttingDown)
        yield* closing(opened, options.grace ?? "10 seconds")
      })
  )
  server.on("request", handler)
  yield* Certificates.follow(server, options, pair, options.certificateInterval)
  const { host, port } = options
  return yield* Effect.mapError(listening(server, options), (code) => new ListenFailed({ host, port, code }))
})
