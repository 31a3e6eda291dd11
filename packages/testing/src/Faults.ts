/**
 * Faults on demand, between a program and whatever API server it talks to: a layer around the `Transport` of `@berth/kube`, so
 * that the whole client works above it and an embedded, a real or an existing cluster lies below.
 *
 * **Guarantees**
 * - T6: error by rule, latency, a server that cannot be reached or says nothing, a lost answer after the write took effect, a
 *   dropped, stalled or expired watch, stale reads, late and duplicate events, a crash before or after the nth write. Rules are
 *   data; what chance decides, a seed repeats.
 *
 * **Caveats**
 * - The client tries again by itself: a 429, or a 503 with Retry-After, within the deadline; each attempt is a request of its own.
 * - A wall clock that is wrong is the business of {@link SkewedClock}.
 * - A stale read repeats the last answer to the same question through the same faults. Where there is none, it is a fresh one.
 *
 * @since 0.1.0
 */
import * as Client from "@berth/kube/Client"
import * as Transport from "@berth/kube/Transport"
import { Context, Duration, Effect, Layer, type Option } from "effect"
import { Cluster } from "./Cluster.ts"
import * as Text from "./internal/faults/describe.ts"
import type * as Model from "./internal/faults/model.ts"
import * as Process from "./internal/faults/process.ts"
import { reasonOf } from "./internal/faults/status.ts"

/**
 * What tells requests apart: what is left out is any.
 *
 * **Details**: `verb` is as in RBAC, where an apply is a `patch`; `read` and `write` stand for all of their sort. `resource` is
 * `plural.group`, with `/status` for that subresource.
 *
 * @category models
 * @since 0.1.0
 */
export interface Matcher extends Model.Matcher {}

/**
 * The requests that a rule hits.
 *
 * **Details**: `page` is that of a list, `where` looks at the request itself. Of all that match, `nth` is the first one to be hit,
 * counted from 1 since the rule was given, and `times` says how many are: by default one where `nth` is given, all where it is not.
 *
 * @category models
 * @since 0.1.0
 */
export interface On extends Model.On {}

/**
 * What goes wrong. Made by the constructors of this module.
 *
 * @category models
 * @since 0.1.0
 */
export type Fault = Model.Fault

/**
 * Several rules may hit one request: the first of them is the outermost.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rule extends Model.Rule {}

/**
 * A request that the program has sent, or that a fault kept from being sent.
 *
 * **Details**: `index` counts all requests, `write` the writes, `occurrence` those of the same verb, resource, namespace and name; all
 * from 1. `faults` are the tags of what hit it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Sent extends Model.Sent {}

/**
 * @category models
 * @since 0.1.0
 */
export interface Service {
  /** Adds rules, behind those that there are. */
  readonly inject: (...rules: ReadonlyArray<Rule>) => Effect.Effect<void>
  /** Takes all rules away. */
  readonly mend: Effect.Effect<void>
  /** What was asked since the beginning, or since {@link forget}, in order. */
  readonly requests: (on?: Matcher) => Effect.Effect<ReadonlyArray<Sent>>
  readonly forget: Effect.Effect<void>
  /** Waits for the program to die, by a {@link crash}. */
  readonly crashed: Effect.Effect<Sent>
  /** Lets go of the requests of a dead program, which stand still until then. They end like interrupted ones. */
  readonly bury: Effect.Effect<void>
}

/**
 * The faults of one program.
 *
 * @category services
 * @since 0.1.0
 */
export class Faults extends Context.Service<Faults, Service>()("@berth/testing/Faults") {}

/**
 * The server refuses, without having acted.
 *
 * **Details**: `reason` is by default the usual one of the status. `retryAfter` is rounded up to seconds.
 *
 * @category faults
 * @since 0.1.0
 */
export const error = (options: {
  readonly status: number
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly retryAfter?: Duration.Input | undefined
}): Fault => ({
  _tag: "Error",
  status: options.status,
  reason: options.reason ?? reasonOf(options.status),
  message: options.message ?? "a fault of the test",
  retryAfterSeconds: options.retryAfter === undefined ? undefined : Math.ceil(Duration.toSeconds(options.retryAfter))
})

/**
 * 410, as for a version or a page that the server has forgotten: the start of a watch, or (with `page: "later"`) the middle of a list.
 *
 * @category faults
 * @since 0.1.0
 */
export const expired: Fault = error({ status: 410 })

/**
 * The request is sent later.
 *
 * @category faults
 * @since 0.1.0
 */
export const latency = (by: Duration.Input): Fault => ({ _tag: "Latency", by: Duration.fromInputUnsafe(by) })

/**
 * There is no connection: the request is not sent.
 *
 * @category faults
 * @since 0.1.0
 */
export const unreachable: Fault = { _tag: "Unreachable" }

/**
 * The server takes the request, does nothing and says nothing.
 *
 * @category faults
 * @since 0.1.0
 */
export const silence: Fault = { _tag: "Silence" }

/**
 * The write takes effect, and its answer never arrives: the connection breaks, or there is silence until the deadline.
 *
 * @category faults
 * @since 0.1.0
 */
export const lostAnswer = (as: "broken" | "silence" = "broken"): Fault => ({ _tag: "LostAnswer", as })

/**
 * A read is answered as the last time, whatever has happened since.
 *
 * @category faults
 * @since 0.1.0
 */
export const staleRead: Fault = { _tag: "StaleRead" }

/**
 * The watch ends after so many lines (bookmarks are lines, too): in good order, by a broken connection, or inside the next line.
 *
 * @category faults
 * @since 0.1.0
 */
export const dropWatch = (after: number, how: "ended" | "broken" | "halfLine" = "broken"): Fault => ({
  _tag: "DropWatch",
  after,
  how
})

/**
 * The watch says nothing more after so many lines, and stays open.
 *
 * @category faults
 * @since 0.1.0
 */
export const stallWatch = (after: number): Fault => ({ _tag: "StallWatch", after })

/**
 * The watch tells after so many lines that its version is too old, and ends.
 *
 * @category faults
 * @since 0.1.0
 */
export const expireWatch = (after: number): Fault => ({ _tag: "ExpireWatch", after })

/**
 * Each line of the watch comes twice.
 *
 * @category faults
 * @since 0.1.0
 */
export const duplicateEvents: Fault = { _tag: "DuplicateEvents" }

/**
 * Each line of the watch comes later: what a cache shows is old.
 *
 * @category faults
 * @since 0.1.0
 */
export const lateEvents = (by: Duration.Input): Fault => ({ _tag: "LateEvents", by: Duration.fromInputUnsafe(by) })

/**
 * The program dies: before the request reaches the server, or once it has taken effect. From then on nothing that it asks is sent,
 * and nothing that was on its way reaches it.
 *
 * **Caveats**: that the program stops is up to the test: see {@link untilCrash}. A dead program stays dead; give the one that comes
 * after it faults of its own.
 *
 * @category faults
 * @since 0.1.0
 */
export const crash = (when: "before" | "after"): Fault => ({ _tag: "Crash", when })

/**
 * The rule that lets the program die at its nth write.
 *
 * @category rules
 * @since 0.1.0
 */
export const crashAt = (nth: number, when: "before" | "after"): Rule => ({
  on: { verb: "write", nth },
  fault: crash(when)
})

/** What happens to every program sooner or later, on a server that works as it should. */
const usual: ReadonlyArray<Fault> = [
  error({ status: 500 }),
  error({ status: 503, retryAfter: "1 second" }),
  error({ status: 429, retryAfter: "1 second" }),
  latency("2 seconds"),
  unreachable,
  lostAnswer(),
  dropWatch(1, "ended"),
  dropWatch(1, "halfLine"),
  expireWatch(1),
  duplicateEvents,
  lateEvents("2 seconds")
]

/**
 * Faults by chance: each request is hit with the probability `rate`, by one of the faults that can befall it.
 *
 * **Details**: what happens to a request depends only on the seed, its verb, resource, namespace and name, and on how many like it
 * there were before: so it is the same in the next run, also where requests come in another order. By default everything but
 * crashes, silence and stale reads.
 *
 * @category rules
 * @since 0.1.0
 */
export const random = (options: {
  readonly seed: number
  /** From 0 to 1. */
  readonly rate: number
  readonly on?: On | undefined
  readonly faults?: ReadonlyArray<Fault> | undefined
}): Rule => ({
  on: options.on,
  fault: { _tag: "Random", seed: options.seed, rate: options.rate, faults: options.faults ?? usual }
})

/**
 * Faults around a transport, and the transport with them.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  transport: Transport.Transport["Service"],
  ...rules: ReadonlyArray<Rule>
): { readonly faults: Service; readonly transport: Transport.Transport["Service"] } => {
  const { transport: faulty, ...faults } = Process.make(transport, rules)
  return { faults, transport: faulty }
}

/**
 * The transport in the context, with faults.
 *
 * **Example** (A server that fails every other second of a minute)
 * ```ts
 * import * as Client from "@berth/kube/Client"
 * import * as Connection from "@berth/kube/Connection"
 * import * as Transport from "@berth/kube/Transport"
 * import * as Faults from "@berth/testing/Faults"
 * import { Layer } from "effect"
 *
 * export const client = (connection: Connection.Connection) =>
 *   Client.layer.pipe(
 *     Layer.provideMerge(Faults.layer(Faults.random({ seed: 1, rate: 0.5, faults: [Faults.error({ status: 500 })] }))),
 *     Layer.provide(Transport.layer(connection))
 *   )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  ...rules: ReadonlyArray<Rule>
): Layer.Layer<Faults | Transport.Transport, never, Transport.Transport> =>
  Layer.effectContext(
    Effect.map(Transport.Transport, (transport) => {
      const made = make(transport, ...rules)
      return Context.make(Faults, made.faults).pipe(Context.add(Transport.Transport, made.transport))
    })
  )

/**
 * A client of the cluster that the context has, with faults. The test's own client, without them, is `Cluster.client`.
 *
 * **Example** (A create whose answer is lost)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import { Client } from "@berth/kube/Client"
 * import * as Cluster from "@berth/testing/Cluster"
 * import * as Faults from "@berth/testing/Faults"
 * import { Effect, Layer } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const client = yield* Client
 *   const error = yield* Effect.flip(
 *     client.create(Builtin.ConfigMap, { metadata: { name: "settings", namespace: "default" } })
 *   )
 *   const writes = yield* Faults.requests({ verb: "write" })
 *   return { error, writes }
 * }).pipe(
 *   Effect.provide(
 *     Faults.client({ on: { verb: "create", resource: "configmaps", nth: 1 }, fault: Faults.lostAnswer() }).pipe(
 *       Layer.provide(Cluster.embedded())
 *     )
 *   )
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const client = (...rules: ReadonlyArray<Rule>): Layer.Layer<Client.Client | Faults, never, Cluster> =>
  Layer.unwrap(
    Effect.map(Cluster, ({ connection }) =>
      Client.layer.pipe(Layer.provideMerge(layer(...rules)), Layer.provide(Transport.layer(connection)))
    )
  )

/**
 * What the program has asked.
 *
 * @category accessors
 * @since 0.1.0
 */
export const requests = (on?: Matcher): Effect.Effect<ReadonlyArray<Sent>, never, Faults> =>
  Faults.use((faults) => faults.requests(on))

/**
 * Adds rules, behind those that there are.
 *
 * @category accessors
 * @since 0.1.0
 */
export const inject = (...rules: ReadonlyArray<Rule>): Effect.Effect<void, never, Faults> =>
  Faults.use((faults) => faults.inject(...rules))

/**
 * Takes all rules away.
 *
 * @category accessors
 * @since 0.1.0
 */
export const mend: Effect.Effect<void, never, Faults> = Faults.use((faults) => faults.mend)

/**
 * Forgets what was asked until now.
 *
 * @category accessors
 * @since 0.1.0
 */
export const forget: Effect.Effect<void, never, Faults> = Faults.use((faults) => faults.forget)

/** So often the others are let run, before the dead are buried: those that can be interrupted are, and do nothing more. */
const turns = 16

/**
 * Runs a program until it ends, or dies by a {@link crash}: then it is cleared away, and the answer is None.
 *
 * **Caveats**: the finalizers of a dead program run, since they also close its connections. None of their requests is sent; what else
 * they do, such as writing files, happens.
 *
 * @category running
 * @since 0.1.0
 */
export const untilCrash = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E, R | Faults> =>
  Faults.use(({ bury, crashed }) => {
    const burial = Effect.forkDetach(Effect.andThen(Effect.repeat(Effect.yieldNow, { times: turns }), bury))
    return Effect.raceFirst(Effect.asSome(program), Effect.andThen(Effect.andThen(crashed, burial), Effect.succeedNone))
  })

/**
 * A request in words, such as `patch configmaps default/settings`.
 *
 * @category text
 * @since 0.1.0
 */
export const describe: (sent: Sent) => string = Text.describe
