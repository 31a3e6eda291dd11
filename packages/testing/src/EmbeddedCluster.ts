/**
 * A Kubernetes API in the process of the test: real HTTP on loopback, everything in memory.
 *
 * **Guarantees**
 * - T2: it is real HTTP, so that any client of Kubernetes works against it, `kubectl` among them.
 * - T8: every timestamp and every timer of the server follows the Effect clock of the layer.
 * - T10: it starts within milliseconds.
 * - T11: when its scope closes, watches end, connections and the port are closed.
 *
 * **Caveats**
 * - What works inside a cluster by itself (garbage collection, emptying of namespaces, acceptance of definitions) is done
 *   before the answer to the request that caused it; on a real cluster it takes a moment.
 * - Nothing schedules or runs Pods, and no workload controller is at work.
 * - Admission policies, webhooks, quotas and limit ranges are stored and have no effect.
 * - Versions of a custom kind are converted by changing the `apiVersion` alone.
 *
 * @since 0.1.0
 */
import * as Connection from "@berth/kube/Connection"
import { Clock, Context, Duration, Effect, FiberSet, type Scope, Stream } from "effect"
import { randomBytes } from "node:crypto"
import type { AddressInfo } from "node:net"
import { selfSigned } from "./Certificate.ts"
import type { LogQuery, LogSource, Time } from "./internal/server/api.ts"
import { administrator } from "./internal/server/authorization.ts"
import { kubeconfigOf } from "./internal/server/kubeconfig.ts"
import { type ApiServer, makeServer } from "./internal/server/server.ts"

/**
 * Who a bearer token stands for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  /** Such as `ada`, or `system:serviceaccount:NAMESPACE:NAME` for a ServiceAccount. */
  readonly username: string
  readonly uid?: string
  /** `system:authenticated` is not added; whoever is in `system:masters` may do everything. */
  readonly groups: ReadonlyArray<string>
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * How many changes the server remembers, at least; a watch or a page that reaches further back is answered with 410.
   * Default 10_000.
   */
  readonly historyMax?: number | undefined
  /**
   * Whether Roles and their bindings decide about requests; then the server speaks TLS, since `kubectl` sends a token
   * over nothing else. Default false: everybody may do everything.
   */
  readonly rbac?: boolean | undefined
  /** Whether the server speaks TLS, with a certificate of its own making. Default: as `rbac`. */
  readonly tls?: boolean | undefined
  /** Bearer tokens, and whom they stand for. */
  readonly users?: Readonly<Record<string, Subject>> | undefined
}

/**
 * What `kubectl logs` asks for.
 *
 * @category models
 * @since 0.1.0
 */
export interface LogOptions extends LogQuery {}

/**
 * What only a cluster in the same process can do, beside what every cluster does.
 *
 * @category services
 * @since 0.1.0
 */
export class EmbeddedCluster extends Context.Service<
  EmbeddedCluster,
  {
    /** `http://127.0.0.1:port`, or `https://`. */
    readonly url: string
    readonly connection: Connection.Connection
    readonly kubeconfig: string
    /** Makes the server forget the past: watches and pages from an earlier version are answered with 410. */
    readonly compact: Effect.Effect<void>
    /** Breaks every open watch and log, as a restarting server does. */
    readonly dropConnections: Effect.Effect<void>
    /** The number of the newest change. */
    readonly resourceVersion: Effect.Effect<number>
    /**
     * Says where the logs of Pods come from, until the scope closes. The source answers `undefined` for a Pod that it
     * does not run.
     */
    readonly registerLogs: <E, R>(
      source: (namespace: string, pod: string, options: LogOptions) => Stream.Stream<string, E, R> | undefined
    ) => Effect.Effect<void, never, Scope.Scope | R>
    /** Makes a bearer token good for somebody. */
    readonly addUser: (token: string, subject: Subject) => Effect.Effect<void>
  }
>()("@berth/testing/EmbeddedCluster") {}

/** Timers that the clock of the test drives, and that end with the scope. */
const makeTime: Effect.Effect<Time, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const run = yield* FiberSet.makeRuntime<never, void, never>()
  return {
    nowMs: () => clock.currentTimeMillisUnsafe(),
    after: (ms, work) => {
      const fiber = run(Effect.andThen(Effect.sleep(Duration.millis(ms)), Effect.sync(work)))
      return () => fiber.interruptUnsafe()
    }
  }
})

const listen = ({ http }: ApiServer, scheme: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      http.once("error", (cause) => resume(Effect.die(cause)))
      http.listen(0, "127.0.0.1", () => {
        const { port } = http.address() as AddressInfo
        resume(Effect.succeed(`${scheme}://127.0.0.1:${port}`))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        http.close(() => resume(Effect.void))
        http.closeAllConnections()
      })
  )

const registerLogs = ({ api }: ApiServer) =>
  Effect.fnUntraced(function* <E, R>(
    source: (namespace: string, pod: string, options: LogOptions) => Stream.Stream<string, E, R> | undefined
  ) {
    const run = yield* FiberSet.makeRuntime<R, void, never>()
    const registered: LogSource = (namespace, pod, options, sink) => {
      const lines = source(namespace, pod, options)
      if (lines === undefined) return undefined
      const written = Stream.runForEach(lines, (text) => Effect.sync(() => sink.write(text)))
      // A log that breaks off ends here, as it does when a container's log is lost.
      const fiber = run(Effect.ensuring(Effect.ignore(written), Effect.sync(sink.end)))
      return () => fiber.interruptUnsafe()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => api.logSources.add(registered)),
      () => Effect.sync(() => api.logSources.delete(registered))
    )
  })

/**
 * Starts a cluster that lives as long as the scope.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: (options?: Options) => Effect.Effect<EmbeddedCluster["Service"], never, Scope.Scope> =
  Effect.fnUntraced(function* (options: Options = {}) {
    const rbac = options.rbac ?? false
    const certificate = (options.tls ?? rbac) ? selfSigned() : undefined
    const token = rbac ? randomBytes(24).toString("base64url") : undefined
    const server = makeServer({
      time: yield* makeTime,
      historyMax: options.historyMax ?? 10_000,
      rbac,
      users: [
        ...Object.entries(options.users ?? {}),
        ...(token === undefined ? [] : [[token, administrator] as const])
      ],
      certificate
    })
    const url = yield* listen(server, certificate === undefined ? "http" : "https")
    const { api, http } = server
    return {
      url,
      connection: Connection.make({ server: url, source: "embedded", token, ca: certificate?.cert }),
      kubeconfig: kubeconfigOf({ server: url, ca: certificate?.cert, token }),
      compact: Effect.sync(() => api.store.compact()),
      dropConnections: Effect.sync(() => http.closeAllConnections()),
      resourceVersion: Effect.sync(() => api.store.version),
      registerLogs: registerLogs(server),
      addUser: (bearer, subject) => Effect.sync(() => void api.users.set(bearer, subject))
    }
  })
