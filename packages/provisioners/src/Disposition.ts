/**
 * Why a pass did not finish, and what to do next: a closed union, made only by the reasons of a vocabulary.
 *
 * **Guarantees**
 * - P2: there are four dispositions and no other failure; a raw error does not type-check where a `ProvisionError` is asked for.
 * - P3: what a user sees is the text declared with the reason, filled with identifiers, numbers and durations; `why` and
 *   `cause` are for logs and never in {@link Shown}.
 * - P8: {@link join} and {@link nextAfter} depend on what failed and in which declared order, never on timing.
 *
 * **Caveats**
 * - On a joined failure `Effect.catchTag` forgives what stands `beside` the worst one too: use {@link without}.
 *
 * @since 0.1.0
 */
import { Duration, Option, Schema } from "effect"
import type { Literal } from "./Identifier.ts"
import * as internal from "./internal/failure.ts"
import type { Declared, Description, ProvisionError, Tag, Vocabulary } from "./internal/failure.ts"

export type {
  Declared,
  Description,
  Details,
  Failure,
  Of,
  Parameters,
  ProvisionError,
  Reason,
  Tag,
  Terminal,
  Transient,
  UserActionRequired,
  Value,
  Vocabulary,
  Yield
} from "./internal/failure.ts"

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

const declare =
  <T extends Tag>(disposition: T) =>
  <const S extends string>(template: S & Template<S>): Declared<T, S> => ({ disposition, template })

const yield_ = declare("Yield")
export {
  /**
   * Declares a reason to come back later.
   *
   * @category declarations
   * @since 0.1.0
   */
  yield_ as yield
}

/**
 * Declares a failure that heals by itself.
 *
 * @category declarations
 * @since 0.1.0
 */
export const transient = declare("Transient")

/**
 * Declares a failure that only a change of the object mends.
 *
 * @category declarations
 * @since 0.1.0
 */
export const terminal = declare("Terminal")

/**
 * Declares a failure that only somebody outside mends.
 *
 * @category declarations
 * @since 0.1.0
 */
export const userActionRequired = declare("UserActionRequired")

/**
 * Declares the reasons of one part of a program: the only way to make a failure.
 *
 * **Details**: names of vocabularies and reasons are lower-case words joined by underscores, at most 63 characters; anything
 * else throws, since it is a programming error.
 *
 * **Example** (A reason with a parameter and one without)
 * ```ts
 * import * as Disposition from "@berth/provisioners/Disposition"
 * import * as Identifier from "@berth/provisioners/Identifier"
 * import { Effect } from "effect"
 *
 * const Reasons = Disposition.vocabulary("postgres", {
 *   waiting_for_rollout: Disposition.yield("Waiting for {name} to become ready."),
 *   insufficient_capacity: Disposition.terminal("No shard has room for another database.")
 * })
 *
 * const pass = Effect.gen(function*() {
 *   return yield* Reasons.waiting_for_rollout({ name: Identifier.of("shard-a") }, { after: "5 seconds", why: "0 of 1 ready" })
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const vocabulary = <const V extends string, D extends Record<string, Declared>>(
  name: V,
  reasons: D
): Vocabulary<V, D> => internal.vocabulary(name, reasons)

/**
 * Lists a vocabulary's reasons, in declared order.
 *
 * **Example** (A list of reasons for people)
 * ```ts
 * import * as Disposition from "@berth/provisioners/Disposition"
 *
 * export const lines = Disposition.describe(Disposition.core).map(({ reason, template }) => `${reason}: ${template}`)
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const describe = (vocabulary: Readonly<Record<string, Description>>): ReadonlyArray<Description> =>
  Object.values(vocabulary)

/**
 * The reasons that the library itself gives.
 *
 * **Details**: `internal_error` stands for a defect (P4), `deadline_exceeded` for a yield that took too long (P12).
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const core = vocabulary("core", {
  internal_error: transient("An internal error occurred; quote {id} when reporting it."),
  deadline_exceeded: terminal("Not ready within {limit}.")
})

/**
 * Whether a value is one of the four failures.
 *
 * @category guards
 * @since 0.1.0
 */
export const isProvisionError: (u: unknown) => u is ProvisionError = internal.isFailure

const ranks = { Yield: 0, Transient: 1, Terminal: 2, UserActionRequired: 3 } as const satisfies Record<Tag, number>

/**
 * The failure and those beside it, worst first.
 *
 * **Example** (Every reason of a pass)
 * ```ts
 * import * as Disposition from "@berth/provisioners/Disposition"
 *
 * export const reasonsOf = (failure: Disposition.ProvisionError) => Disposition.leaves(failure).map(({ reason }) => reason)
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const leaves = (failure: ProvisionError): readonly [ProvisionError, ...Array<ProvisionError>] => [
  internal.alone(failure),
  ...failure.beside
]

/**
 * One failure for several in declared order: the worst (UserActionRequired, Terminal, Transient, Yield), the others beside it.
 *
 * **Details**: ties go by order. Joining is associative, so that nesting makes no difference, and nothing gets lost.
 *
 * **Example** (What failed side by side, the worst in front)
 * ```ts
 * import * as Disposition from "@berth/provisioners/Disposition"
 *
 * const Reasons = Disposition.vocabulary("quota", {
 *   refreshing: Disposition.yield("Quotas are being refreshed."),
 *   used_up: Disposition.terminal("The quota is used up.")
 * })
 *
 * export const both = Disposition.join([Reasons.refreshing(), Reasons.used_up()])
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const join = (failures: readonly [ProvisionError, ...Array<ProvisionError>]): ProvisionError => {
  if (failures.length === 1) return failures[0]
  const [worst, ...beside] = failures.flatMap(leaves).sort((a, b) => ranks[b._tag] - ranks[a._tag])
  return internal.withBeside(worst ?? failures[0], beside)
}

/**
 * What is left of a failure when some of its leaves are forgiven.
 *
 * **Example** (A quota that is used up is good enough)
 * ```ts
 * import * as Disposition from "@berth/provisioners/Disposition"
 * import { Effect, Option } from "effect"
 *
 * const Reasons = Disposition.vocabulary("quota", {
 *   refreshing: Disposition.yield("Quotas are being refreshed."),
 *   used_up: Disposition.terminal("The quota is used up.")
 * })
 *
 * export const tolerant = <R>(pass: Effect.Effect<void, Disposition.ProvisionError, R>) =>
 *   Effect.catch(pass, (failure) =>
 *     Option.match(Disposition.without(failure, Reasons.used_up.is), { onNone: () => Effect.void, onSome: Effect.fail })
 *   )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const without = (
  failure: ProvisionError,
  forgiven: (leaf: ProvisionError) => boolean
): Option.Option<ProvisionError> => {
  const [first, ...rest] = leaves(failure).filter((leaf) => !forgiven(leaf))
  return first === undefined ? Option.none() : Option.some(join([first, ...rest]))
}

const parks = (leaf: ProvisionError) => leaf._tag === "Terminal" || leaf._tag === "UserActionRequired"

/**
 * Whether nothing is to be tried again by itself: every leaf is Terminal or UserActionRequired (P8).
 *
 * @category getters
 * @since 0.1.0
 */
export const isTerminal = (failure: ProvisionError): boolean => leaves(failure).every(parks)

/**
 * The delay until the next pass, the soonest of the leaves'; none to park (P8).
 *
 * **Details**: `defaults` are the delays of a Yield and of a Transient that do not name their own; `Backoff.next` supplies them.
 *
 * @category getters
 * @since 0.1.0
 */
export const nextAfter = (
  failure: ProvisionError,
  defaults: { readonly yield: Duration.Duration; readonly backoff: Duration.Duration }
): Option.Option<Duration.Duration> => {
  const delays = leaves(failure)
    .filter((leaf) => !parks(leaf))
    .map((leaf) => leaf.after ?? (leaf._tag === "Yield" ? defaults.yield : defaults.backoff))
  const [first, ...rest] = delays
  return first === undefined ? Option.none() : Option.some(rest.reduce(Duration.min, first))
}

/**
 * Whether the pass counts as a failed one; a pass that only yielded does not (P2).
 *
 * @category getters
 * @since 0.1.0
 */
export const countsAsFailure = (failure: ProvisionError): boolean =>
  leaves(failure).some((leaf) => leaf._tag !== "Yield")

const Code = Schema.String.check(Schema.isPattern(internal.code), Schema.isMaxCodePoints(63))

/**
 * What may leave the process about a failure: neither `why` nor `cause`. Every text is bounded, so that a status can hold it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Shown = Schema.Struct({
  disposition: Schema.Literals(["Yield", "Transient", "Terminal", "UserActionRequired"]),
  vocabulary: Code,
  reason: Code,
  message: Schema.String.check(Schema.isMaxCodePoints(internal.messageMax))
})

/**
 * @category models
 * @since 0.1.0
 */
export interface Shown extends Schema.Schema.Type<typeof Shown> {}

/**
 * What may be shown of the failure itself, without those beside it.
 *
 * @category conversions
 * @since 0.1.0
 */
export const show = (failure: ProvisionError): Shown => ({
  disposition: failure._tag,
  vocabulary: failure.vocabulary,
  reason: failure.reason,
  message: failure.message
})

/**
 * Whether two are the same trouble. Parameters may differ, so that "3 of 5 ready" does not restart a clock.
 *
 * @category guards
 * @since 0.1.0
 */
export const sameReason = (a: Shown, b: Shown): boolean =>
  a.disposition === b.disposition && a.vocabulary === b.vocabulary && a.reason === b.reason
