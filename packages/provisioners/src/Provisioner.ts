/**
 * Something that can be provisioned and deprovisioned, idempotently, in many small passes.
 *
 * **Guarantees**
 * - P1: a pass keeps nothing in memory, so one that was interrupted between any two effects is simply run again.
 * - P2: the error channel is the closed union of dispositions; a raw error, `any`, and a forgotten `yield*` do not compile.
 * - P4: what is raw all the same, since nobody type-checked it, is an internal error like a defect, and harms no sibling.
 * - P6: {@link serial} goes in order and stops at the first failure, backwards when deprovisioning.
 * - P7: {@link concurrent} runs every child to its end.
 * - P8: failures are joined in declared order, whatever the timing.
 * - P9: {@link conditional} deprovisions what is not wanted; a predicate that fails is a failure.
 * - P10: {@link graph} goes by dependency, backwards when deprovisioning; a cycle or a missing edge is refused when it is made.
 * - P12: {@link withDeadline} ends waiting.
 *
 * **Caveats**
 * - Idempotence of a leaf is its author's: `provision` and `deprovision` are run again and again, and may be interrupted between
 *   any two effects (P1).
 * - Names are shown in status and in spans. Siblings have different names; two alike, or one that is no identifier, throw when the
 *   tree is made.
 *
 * @since 0.1.0
 */
import { Duration, Effect, Function, type Layer, type Pipeable, Result } from "effect"
import type { ProvisionError } from "./Disposition.ts"
import type { Identifier, Literal } from "./Identifier.ts"
import * as compose from "./internal/compose.ts"
import { deadline } from "./internal/pass.ts"

/**
 * A name and two effects. `R` is what both directions need together.
 *
 * **Details**: covariant in both parameters, so that `Provisioner<unknown>` is every provisioner.
 *
 * @category models
 * @since 0.1.0
 */
export interface Provisioner<out R = never, out Name extends string = string> extends Pipeable.Pipeable {
  readonly [compose.TypeId]: typeof compose.TypeId
  readonly name: Name
  /** Makes it exist, or does a part of that and says why there is more to do. */
  readonly provision: Effect.Effect<void, ProvisionError, R>
  /** Makes it not exist; succeeds when it is gone, also when it never was there. */
  readonly deprovision: Effect.Effect<void, ProvisionError, R>
}

/**
 * What a provisioner needs.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Services<P> = P extends Provisioner<infer R> ? R : never

/**
 * A provisioner's name.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Name<P> = P extends Provisioner<unknown, infer N> ? N : never

/** Names are shown in status: literals, or identifiers. */
type NameInput<N extends string> = N & (N extends Identifier ? unknown : Literal<N>)

/** An effect, or what `Effect.fn` makes. The guards refuse what assignability alone lets through. */
type Work<A, E extends ProvisionError, R> = (Effect.Effect<A, E, R> | (() => Effect.Effect<A, E, R>)) & Guard<A, E>
type Guard<A, E> = 0 extends 1 & E
  ? "the error channel is any"
  : [A] extends [void]
    ? unknown
    : "a pass returns nothing: is a yield* missing?"

/**
 * A leaf of a tree.
 *
 * **Example** (A leaf with a reason of its own)
 * ```ts
 * import * as Disposition from "@berth/provisioners/Disposition"
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Context, Effect } from "effect"
 *
 * class Postgres extends Context.Service<Postgres, { readonly ready: Effect.Effect<boolean> }>()("example/Postgres") {}
 * const Reasons = Disposition.vocabulary("postgres", { starting: Disposition.yield("The server is starting.") })
 *
 * export const database = Provisioner.make("database", {
 *   provision: Effect.fn("database.provision")(function*() {
 *     const postgres = yield* Postgres
 *     if (!(yield* postgres.ready)) return yield* Reasons.starting({ after: "5 seconds" })
 *   }),
 *   deprovision: Effect.void
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const N extends string, A1, A2, E1 extends ProvisionError, E2 extends ProvisionError, R1, R2>(
  name: NameInput<N>,
  work: { readonly provision: Work<A1, E1, R1>; readonly deprovision: Work<A2, E2, R2> }
): Provisioner<R1 | R2, N> => compose.make<R1 | R2, N>(name, work.provision, work.deprovision)

/** Infers the needs of each child of a tuple or an array; assignable to `ReadonlyArray<Provisioner<Rs[number]>>`, so no cast. */
type Children<Rs extends ReadonlyArray<unknown>> = { readonly [K in keyof Rs]: Provisioner<Rs[K]> }

/**
 * One after the other, to the first failure; backwards when deprovisioning (P6).
 *
 * **Example** (The database is there before what uses it, and goes after it)
 * ```ts
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect } from "effect"
 *
 * const nothing = { provision: Effect.void, deprovision: Effect.void }
 * export const tree = Provisioner.serial("shop", [
 *   Provisioner.make("database", nothing),
 *   Provisioner.make("web", nothing)
 * ])
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const serial = <const N extends string, Rs extends ReadonlyArray<unknown>>(
  name: NameInput<N>,
  children: Children<Rs>
): Provisioner<Rs[number], N> => compose.serial<Rs[number], N>(name, children)

/**
 * All of them in one pass, each to its end; one failure for all that failed (P7, P8).
 *
 * **Details**: `concurrency` is how many run at a time. Default 16.
 *
 * **Example** (Caches, four at a time)
 * ```ts
 * import type * as Identifier from "@berth/provisioners/Identifier"
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect } from "effect"
 *
 * export const caches = (names: ReadonlyArray<Identifier.Identifier>) =>
 *   Provisioner.concurrent(
 *     "caches",
 *     names.map((name) => Provisioner.make(name, { provision: Effect.log(`make ${name}`), deprovision: Effect.log(`remove ${name}`) })),
 *     { concurrency: 4 }
 *   )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const concurrent = <const N extends string, Rs extends ReadonlyArray<unknown>>(
  name: NameInput<N>,
  children: Children<Rs>,
  options?: { readonly concurrency?: number | "unbounded" | undefined }
): Provisioner<Rs[number], N> => compose.concurrent<Rs[number], N>(name, children, options?.concurrency ?? 16)

/**
 * Provisions the child while it is wanted, and deprovisions it otherwise (P9).
 *
 * **Details**: a predicate that is an effect is asked in every provision pass and in no deprovision pass.
 *
 * **Errors**: a predicate that fails is a failure of the pass, and the child is left alone.
 *
 * **Example** (Monitoring where it is wanted, and nothing of it left where it is not)
 * ```ts
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect } from "effect"
 *
 * const monitoring = Provisioner.make("agent", { provision: Effect.log("make"), deprovision: Effect.log("remove") })
 *
 * export const monitoringOf = ({ spec }: { readonly spec: { readonly monitored: boolean } }) =>
 *   Provisioner.conditional("monitoring", spec.monitored, monitoring)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const conditional = <const N extends string, R, R2 = never>(
  name: NameInput<N>,
  wanted: boolean | Effect.Effect<boolean, ProvisionError, R2>,
  child: Provisioner<R>
): Provisioner<R | R2, N> =>
  compose.conditional<R | R2, N>(name, typeof wanted === "boolean" ? Effect.succeed(wanted) : wanted, child)

/**
 * What each child of a graph needs, for names that the compiler knows.
 *
 * @category models
 * @since 0.1.0
 */
export type Edges<Names extends string> = { readonly [K in Names]?: ReadonlyArray<Exclude<Names, K>> }

type Needs<E, K> = K extends keyof E ? (E[K] extends ReadonlyArray<infer U> ? U : never) : never
type Reaches<E, From, To, Seen = never> =
  To extends Needs<E, From>
    ? true
    : [Exclude<Needs<E, From>, Seen>] extends [never]
      ? false
      : Reaches<E, Exclude<Needs<E, From>, Seen>, To, Seen | Needs<E, From>>
type Cyclic<E> = { [K in keyof E]: Reaches<E, K, K> extends true ? K : never }[keyof E]
type Acyclic<E> = [Cyclic<E>] extends [never]
  ? unknown
  : { readonly [K in Cyclic<E> & PropertyKey]: "needs itself by way of others" }

/** How many of a graph's children run at a time. Default: as many as the edges allow. */
interface GraphOptions {
  readonly concurrency?: number | "unbounded" | undefined
}

export {
  /**
   * Why a graph cannot be made.
   *
   * @category errors
   * @since 0.1.0
   */
  GraphError
} from "./internal/compose.ts"

/**
 * Children by dependency: `edges` names what each of them needs (P10).
 *
 * **Details**: a child runs once all that it needs have succeeded in this pass, and is not reached otherwise; deprovisioning goes
 * the other way round. A missing edge or a cycle does not compile.
 *
 * **Example** (The web server needs both others)
 * ```ts
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect } from "effect"
 *
 * const nothing = { provision: Effect.void, deprovision: Effect.void }
 * export const tree = Provisioner.graph(
 *   "shop",
 *   [Provisioner.make("database", nothing), Provisioner.make("cache", nothing), Provisioner.make("web", nothing)],
 *   { web: ["database", "cache"] }
 * )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const graph = <
  const N extends string,
  Rs extends ReadonlyArray<unknown>,
  const Names extends string,
  const E extends Edges<Names>
>(
  name: NameInput<N>,
  children: Children<Rs> & ReadonlyArray<{ readonly name: Names }>,
  edges: E & Acyclic<E>,
  options?: GraphOptions
): Provisioner<Rs[number], N> =>
  Result.getOrThrow(compose.graph<Rs[number], N>(name, children, edges, options?.concurrency ?? "unbounded"))

/**
 * The same as {@link graph}, for names that come from outside.
 *
 * **Errors**: `GraphError` with the cycle, the missing edge, or the name that two children share.
 *
 * **Example** (Dependencies that a user wrote)
 * ```ts
 * import * as Disposition from "@berth/provisioners/Disposition"
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect, Result } from "effect"
 *
 * const Reasons = Disposition.vocabulary("stack", {
 *   impossible_order: Disposition.terminal("The parts of the stack need each other in a circle, or one that is not there.")
 * })
 *
 * export const stackOf = (
 *   parts: ReadonlyArray<Provisioner.Provisioner>,
 *   needs: Readonly<Record<string, ReadonlyArray<string>>>
 * ) =>
 *   Effect.fromResult(
 *     Result.mapError(Provisioner.graphResult("stack", parts, needs), (error) =>
 *       Reasons.impossible_order({ why: error.message })
 *     )
 *   )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const graphResult = <const N extends string, Rs extends ReadonlyArray<unknown>>(
  name: NameInput<N>,
  children: Children<Rs>,
  edges: Readonly<Record<string, ReadonlyArray<string> | undefined>>,
  options?: GraphOptions
): Result.Result<Provisioner<Rs[number], N>, compose.GraphError> =>
  compose.graph<Rs[number], N>(name, children, edges, options?.concurrency ?? "unbounded")

/**
 * Gives the child its services: the layer is built anew for each pass of the child, and closed when that ends.
 *
 * **Details**: a layer that is built further out already is not reused, so that the same layer may be provided at two depths.
 *
 * **Errors**: what the layer fails with is the pass's failure, and the child is not run.
 *
 * **Example** (A service for one part of a tree)
 * ```ts
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Context, Effect, Layer } from "effect"
 *
 * class Region extends Context.Service<Region, { readonly name: string }>()("example/Region") {}
 *
 * const bucket = Provisioner.make("bucket", {
 *   provision: Effect.flatMap(Region, ({ name }) => Effect.log(`a bucket in ${name}`)),
 *   deprovision: Effect.void
 * })
 *
 * export const inEurope = bucket.pipe(Provisioner.provide(Layer.succeed(Region, { name: "europe" })))
 * ```
 *
 * @category context
 * @since 0.1.0
 */
export const provide: {
  <Out, In>(
    layer: Layer.Layer<Out, ProvisionError, In>
  ): <R, N extends string>(self: Provisioner<R, N>) => Provisioner<Exclude<R, Out> | In, N>
  <R, N extends string, Out, In>(
    self: Provisioner<R, N>,
    layer: Layer.Layer<Out, ProvisionError, In>
  ): Provisioner<Exclude<R, Out> | In, N>
} = Function.dual(
  2,
  <R, N extends string, Out, In>(
    self: Provisioner<R, N>,
    layer: Layer.Layer<Out, ProvisionError, In>
  ): Provisioner<Exclude<R, Out> | In, N> => around(self, (pass) => Effect.provide(pass, layer, { local: true }))
)

/**
 * Wraps both directions alike: locks, timeouts, annotations.
 *
 * **Example** (One pass of a part at a time, in a whole program)
 * ```ts
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect, type Semaphore } from "effect"
 *
 * export const oneAtATime = <R, N extends string>(part: Provisioner.Provisioner<R, N>, lock: Semaphore.Semaphore) =>
 *   Provisioner.around(part, (pass) => lock.withPermit(pass))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const around = <R, N extends string, R2>(
  self: Provisioner<R, N>,
  wrap: (pass: Effect.Effect<void, ProvisionError, R>) => Effect.Effect<void, ProvisionError, R2>
): Provisioner<R2, N> => compose.make(self.name, wrap(self.provision), wrap(self.deprovision))

/**
 * Turns a Yield that is older than `limit` into Terminal `deadline_exceeded` (P12).
 *
 * **Details**: the clock is `waitingSinceMs` of the previous pass, as `Progress.run` is given it; a pass outside of it has no clock.
 *
 * **Example** (A rollout may take ten minutes)
 * ```ts
 * import * as Disposition from "@berth/provisioners/Disposition"
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect } from "effect"
 *
 * const Reasons = Disposition.vocabulary("rollout", { rolling_out: Disposition.yield("Rolling out.") })
 *
 * export const rollout = Provisioner.make("rollout", {
 *   provision: Effect.suspend(() => Effect.fail(Reasons.rolling_out())),
 *   deprovision: Effect.void
 * }).pipe((self) => Provisioner.withDeadline(self, "10 minutes"))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const withDeadline = <R, N extends string>(
  self: Provisioner<R, N>,
  limit: Duration.Input
): Provisioner<R, N> => {
  const exact = Duration.fromInputUnsafe(limit)
  return around(self, (pass) => deadline(pass, exact))
}
