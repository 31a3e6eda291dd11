/** Something that can be provisioned and deprovisioned, idempotently, in many small passes. */
import { Duration, Effect, Function, type Layer, type Pipeable, Result } from "effect"
import type { ProvisionError } from "./Disposition.ts"
import type { Identifier, Literal } from "./Identifier.ts"
import * as compose from "./internal/compose.ts"
import { deadline } from "./internal/pass.ts"

/** `R` is what both directions need together. Covariant in both parameters, so `Provisioner<unknown>` is every provisioner. */
export interface Provisioner<out R = never, out Name extends string = string> extends Pipeable.Pipeable {
  readonly [compose.TypeId]: typeof compose.TypeId
  readonly name: Name
  readonly provision: Effect.Effect<void, ProvisionError, R>
  readonly deprovision: Effect.Effect<void, ProvisionError, R>
}
export type Services<P> = P extends Provisioner<infer R, string> ? R : never
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

export const make = <const N extends string, A1, A2, E1 extends ProvisionError, E2 extends ProvisionError, R1, R2>(
  name: NameInput<N>,
  work: { readonly provision: Work<A1, E1, R1>; readonly deprovision: Work<A2, E2, R2> }
): Provisioner<R1 | R2, N> => compose.make<R1 | R2, N>(name, work.provision, work.deprovision)

/** Infers the needs of each child of a tuple or an array; assignable to `ReadonlyArray<Provisioner<Rs[number]>>`, so no cast. */
type Children<Rs extends ReadonlyArray<unknown>> = { readonly [K in keyof Rs]: Provisioner<Rs[K]> }

/** In order, to the first failure; backwards when deprovisioning (P6). */
export const serial = <const N extends string, Rs extends ReadonlyArray<unknown>>(
  name: NameInput<N>,
  children: Children<Rs>
): Provisioner<Rs[number], N> => compose.serial<Rs[number], N>(name, children)

/** All of them in one pass; one failure for all that failed (P7, P8). */
export const concurrent = <const N extends string, Rs extends ReadonlyArray<unknown>>(
  name: NameInput<N>,
  children: Children<Rs>,
  options?: { readonly concurrency?: number | "unbounded" | undefined }
): Provisioner<Rs[number], N> => compose.concurrent<Rs[number], N>(name, children, options?.concurrency ?? 16)

/** Provisions the child while `wanted`, deprovisions it otherwise; a failing predicate is a failure (P9). */
export const conditional = <const N extends string, R, R2 = never>(
  name: NameInput<N>,
  wanted: boolean | Effect.Effect<boolean, ProvisionError, R2>,
  child: Provisioner<R>
): Provisioner<R | R2, N> =>
  compose.conditional<R | R2, N>(name, typeof wanted === "boolean" ? Effect.succeed(wanted) : wanted, child)

// --- Graphs

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

export const GraphError = compose.GraphError
export type GraphError = compose.GraphError

/** Children by dependency; `edges` names what each needs. Names known to the compiler: a missing edge or a cycle does not compile (P10). */
export const graph = <
  const N extends string,
  Rs extends ReadonlyArray<unknown>,
  const Names extends string,
  const E extends Edges<Names>
>(
  name: NameInput<N>,
  children: Children<Rs> & ReadonlyArray<{ readonly name: Names }>,
  edges: E & Acyclic<E>
): Provisioner<Rs[number], N> => Result.getOrThrow(compose.graph<Rs[number], N>(name, children, edges))

/** The same for names that come from outside. */
export const graphResult = <const N extends string, Rs extends ReadonlyArray<unknown>>(
  name: NameInput<N>,
  children: Children<Rs>,
  edges: Readonly<Record<string, ReadonlyArray<string> | undefined>>
): Result.Result<Provisioner<Rs[number], N>, GraphError> => compose.graph<Rs[number], N>(name, children, edges)

// --- Context

/** Builds the layer anew for each pass of the child and takes its services out of `R`. */
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

/** Wraps both directions alike: spans, locks, deadlines. */
export const around = <R, N extends string, R2>(
  self: Provisioner<R, N>,
  wrap: (pass: Effect.Effect<void, ProvisionError, R>) => Effect.Effect<void, ProvisionError, R2>
): Provisioner<R2, N> => compose.make(self.name, wrap(self.provision), wrap(self.deprovision))

/** A yield older than `limit` becomes Terminal `deadline_exceeded`; the clock is the previous pass's progress (P12). */
export const withDeadline = <R, N extends string>(
  self: Provisioner<R, N>,
  limit: Duration.Input
): Provisioner<R, N> => {
  const exact = Duration.fromInputUnsafe(limit)
  return around(self, (pass) => deadline(pass, exact))
}
