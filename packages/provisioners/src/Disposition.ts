/** Why a pass did not finish, and what to do next: a closed union, made only by the reasons of a vocabulary. */
import { type Cause, Duration, Option, Schema } from "effect"
import * as internal from "./internal/failure.ts"
import type { Identifier, Literal } from "./Identifier.ts"

export type Tag = "Yield" | "Transient" | "Terminal" | "UserActionRequired"

/** What all four share. Interfaces over an unexported symbol: nothing outside can make one. */
export interface Failure<T extends Tag, V extends string, R extends string> extends Cause.YieldableError {
  readonly [internal.TypeId]: typeof internal.TypeId
  readonly _tag: T
  readonly vocabulary: V
  readonly reason: R
  /** Safe to show: the declared template with identifiers filled in. */
  readonly message: string
  /** For operators' logs; never shown. */
  readonly why: string | undefined
  readonly cause?: unknown
  /** When to come back, where the failing code knows better than the manager. */
  readonly after: Duration.Duration | undefined
  /** What else failed in the same pass, worst first; this failure is the worst. */
  readonly beside: ReadonlyArray<ProvisionError>
}
export interface Yield<V extends string = string, R extends string = string> extends Failure<"Yield", V, R> {}
export interface Transient<V extends string = string, R extends string = string> extends Failure<"Transient", V, R> {}
export interface Terminal<V extends string = string, R extends string = string> extends Failure<"Terminal", V, R> {}
export interface UserActionRequired<V extends string = string, R extends string = string> extends Failure<
  "UserActionRequired",
  V,
  R
> {}
export type ProvisionError = Yield | Transient | Terminal | UserActionRequired

/** The failure with this tag, vocabulary and reason. */
export type Of<T extends Tag, V extends string = string, R extends string = string> = {
  Yield: Yield<V, R>
  Transient: Transient<V, R>
  Terminal: Terminal<V, R>
  UserActionRequired: UserActionRequired<V, R>
}[T]

// --- Templates and vocabularies

/** The names in braces. */
export type Parameters<S extends string> = S extends `${string}{${infer P}}${infer Rest}` ? P | Parameters<Rest> : never
type Stray = `${string}${"{" | "}"}${string}`
type Balanced<S extends string> = S extends `${infer Head}{${infer P}}${infer Rest}`
  ? Head extends Stray
    ? false
    : P extends "" | Stray | `${string} ${string}`
      ? false
      : Balanced<Rest>
  : S extends Stray
    ? false
    : true
type Template<S extends string> = Balanced<S> extends true ? Literal<S> : "braces must pair up around one word"

export type Value = Identifier | number | Duration.Duration | ReadonlyArray<Identifier>
export interface Declared<T extends Tag = Tag, S extends string = string> {
  readonly disposition: T
  readonly template: S
}
const declare =
  <T extends Tag>(disposition: T) =>
  <const S extends string>(template: S & Template<S>): Declared<T, S> => ({ disposition, template })
const yield_ = declare("Yield")
export { yield_ as yield }
export const transient = declare("Transient")
export const terminal = declare("Terminal")
export const userActionRequired = declare("UserActionRequired")

interface Detail {
  readonly why?: string | undefined
  readonly cause?: unknown
}
interface Timed extends Detail {
  readonly after?: Duration.Input | undefined
}
export type Details<T extends Tag> = T extends "Yield" | "Transient" ? Timed : Detail

/** What documentation and metrics enumerate. */
export interface Description<
  T extends Tag = Tag,
  V extends string = string,
  R extends string = string,
  S extends string = string
> extends Declared<T, S> {
  readonly vocabulary: V
  readonly reason: R
  readonly parameters: ReadonlyArray<string>
}
export interface Reason<T extends Tag, V extends string, R extends string, S extends string> extends Description<
  T,
  V,
  R,
  S
> {
  (
    ...arguments_: [Parameters<S>] extends [never]
      ? [details?: Details<T>]
      : [parameters: { readonly [K in Parameters<S>]: Value }, details?: Details<T>]
  ): Of<T, V, R>
  /** Whether this is why it failed. */
  readonly is: (failure: unknown) => failure is Of<T, V, R>
}
export type Vocabulary<V extends string, D extends Record<string, Declared>> = {
  readonly [R in keyof D & string]: Reason<D[R]["disposition"], V, R, D[R]["template"]>
}
export const vocabulary: <const V extends string, D extends Record<string, Declared>>(
  name: V,
  reasons: D
) => Vocabulary<V, D> = internal.vocabulary
export const describe = (vocabulary: Readonly<Record<string, Description>>): ReadonlyArray<Description> =>
  Object.values(vocabulary)

/** Reasons that the library itself gives. */
export const core = vocabulary("core", {
  internal_error: transient("An internal error occurred; quote {id} when reporting it."),
  deadline_exceeded: terminal("Not ready within {limit}.")
})

// --- Reading a failure

export const isProvisionError: (u: unknown) => u is ProvisionError = internal.isFailure
const ranks = { Yield: 0, Transient: 1, Terminal: 2, UserActionRequired: 3 } as const satisfies Record<Tag, number>

/** The failure and those beside it, worst first. */
export const leaves = (failure: ProvisionError): readonly [ProvisionError, ...Array<ProvisionError>] => [
  internal.alone(failure),
  ...failure.beside
]

/** One failure for several in declared order: the worst, with the others beside it. Associative. */
export const join = (failures: readonly [ProvisionError, ...Array<ProvisionError>]): ProvisionError => {
  if (failures.length === 1) return failures[0]
  const [worst, ...beside] = failures.flatMap(leaves).sort((a, b) => ranks[b._tag] - ranks[a._tag])
  return internal.withBeside(worst ?? failures[0], beside)
}

/** What is left when some leaves are forgiven. `Effect.catchTag` would forgive those beside the worst too. */
export const without = (
  failure: ProvisionError,
  forgiven: (leaf: ProvisionError) => boolean
): Option.Option<ProvisionError> => {
  const [first, ...rest] = leaves(failure).filter((leaf) => !forgiven(leaf))
  return first === undefined ? Option.none() : Option.some(join([first, ...rest]))
}

/** The delay until the next pass, or none to park: parks only when every leaf is terminal (P8). */
export const nextAfter = (
  failure: ProvisionError,
  defaults: { readonly yield: Duration.Duration; readonly backoff: Duration.Duration }
): Option.Option<Duration.Duration> =>
  leaves(failure).reduce<Option.Option<Duration.Duration>>((soonest, leaf) => {
    if (leaf._tag === "Terminal" || leaf._tag === "UserActionRequired") return soonest
    const delay = leaf.after ?? (leaf._tag === "Yield" ? defaults.yield : defaults.backoff)
    return Option.some(Option.match(soonest, { onNone: () => delay, onSome: (other) => Duration.min(other, delay) }))
  }, Option.none())

/** Whether the pass counts as a failed one: a yield never does (P2). */
export const countsAsFailure = (failure: ProvisionError): boolean =>
  leaves(failure).some((leaf) => leaf._tag !== "Yield")

/** What may leave the process: no `why`, no cause. */
export const Shown = Schema.Struct({
  disposition: Schema.Literals(["Yield", "Transient", "Terminal", "UserActionRequired"]),
  vocabulary: Schema.String,
  reason: Schema.String,
  message: Schema.String
})
export interface Shown extends Schema.Schema.Type<typeof Shown> {}
export const show = (failure: ProvisionError): Shown => ({
  disposition: failure._tag,
  vocabulary: failure.vocabulary,
  reason: failure.reason,
  message: failure.message
})

/** Whether two are the same trouble: parameters may differ, so that "3 of 5 ready" does not restart a clock. */
export const sameReason = (a: Shown, b: Shown): boolean =>
  a.disposition === b.disposition && a.vocabulary === b.vocabulary && a.reason === b.reason
