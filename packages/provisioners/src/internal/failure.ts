/** How failures are made: the model, its four classes, and the functions that a vocabulary consists of. */
import { type Cause, Data, Duration } from "effect"
import type { Identifier } from "../Identifier.ts"

/** One for all copies of the package in a program: a failure of another copy is no raw error. */
const TypeId: unique symbol = Symbol.for("@berth/provisioners/Failure")

/**
 * What the controller should do next after a pass that did not finish.
 *
 * **Details**
 * - `Yield`: nothing is wrong, come back (10 s by default).
 * - `Transient`: failed and expected to heal; retried with backoff.
 * - `Terminal`: parked until the generation changes or a retry is asked for.
 * - `UserActionRequired`: as `Terminal`, and also revived when an object that the user was to mend changes.
 *
 * @category models
 * @since 0.1.0
 */
export type Tag = "Yield" | "Transient" | "Terminal" | "UserActionRequired"

/**
 * What all four dispositions share. Only the reasons of a vocabulary make one: the symbol is not exported.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failure<T extends Tag, V extends string, R extends string> extends Cause.YieldableError {
  readonly [TypeId]: typeof TypeId
  readonly _tag: T
  readonly vocabulary: V
  readonly reason: R
  /** Safe to show: the declared template with identifiers filled in, at most 2,048 characters. */
  readonly message: string
  /** For operators' logs; never shown. */
  readonly why: string | undefined
  /** For operators' logs; never shown. */
  readonly cause?: unknown
  /** When to come back, where the failing code knows better than the manager. */
  readonly after: Duration.Duration | undefined
  /** What else failed in the same pass, worst first; this failure is the worst. */
  readonly beside: ReadonlyArray<ProvisionError>
}

/**
 * Nothing is wrong; come back later.
 *
 * @category models
 * @since 0.1.0
 */
export interface Yield<V extends string = string, R extends string = string> extends Failure<"Yield", V, R> {}

/**
 * Failed, and expected to heal by itself.
 *
 * @category models
 * @since 0.1.0
 */
export interface Transient<V extends string = string, R extends string = string> extends Failure<"Transient", V, R> {}

/**
 * Failed, and will again until the object is changed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Terminal<V extends string = string, R extends string = string> extends Failure<"Terminal", V, R> {}

/**
 * Failed, and will again until somebody mends something outside the object.
 *
 * @category models
 * @since 0.1.0
 */
export interface UserActionRequired<V extends string = string, R extends string = string> extends Failure<
  "UserActionRequired",
  V,
  R
> {}

/**
 * The error channel of every provisioner: the closed union of the four dispositions.
 *
 * @category models
 * @since 0.1.0
 */
export type ProvisionError = Yield | Transient | Terminal | UserActionRequired

/**
 * What may stand for a parameter of a template. A list shows five names and counts the rest.
 *
 * @category models
 * @since 0.1.0
 */
export type Value = Identifier | number | Duration.Duration | ReadonlyArray<Identifier>

/**
 * A reason as it is declared: its disposition and its text, with parameters in braces.
 *
 * @category models
 * @since 0.1.0
 */
export interface Declared<T extends Tag = Tag, S extends string = string> {
  readonly disposition: T
  readonly template: S
}

/**
 * The failure with this tag, vocabulary and reason.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Of<T extends Tag, V extends string = string, R extends string = string> = {
  Yield: Yield<V, R>
  Transient: Transient<V, R>
  Terminal: Terminal<V, R>
  UserActionRequired: UserActionRequired<V, R>
}[T]

/**
 * The names in braces.
 *
 * @category utility types
 * @since 0.1.0
 */
export type Parameters<S extends string> = S extends `${string}{${infer P}}${infer Rest}` ? P | Parameters<Rest> : never

interface Detail {
  /** What an operator needs to know; logged, never shown. */
  readonly why?: string | undefined
  /** What was thrown or answered; logged, never shown. */
  readonly cause?: unknown
}
interface Timed extends Detail {
  /** When to come back, instead of the manager's own delay. */
  readonly after?: Duration.Input | undefined
}

/**
 * What may be said beside the parameters. Only what is retried has a delay.
 *
 * @category models
 * @since 0.1.0
 */
export type Details<T extends Tag> = T extends "Yield" | "Transient" ? Timed : Detail

/**
 * A reason as documentation and metrics enumerate it.
 *
 * @category models
 * @since 0.1.0
 */
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

/**
 * Makes failures of one reason, and recognises them.
 *
 * @category models
 * @since 0.1.0
 */
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

/**
 * The reasons of one part of a program.
 *
 * @category models
 * @since 0.1.0
 */
export type Vocabulary<V extends string, D extends Record<string, Declared>> = {
  readonly [R in keyof D & string]: Reason<D[R]["disposition"], V, R, D[R]["template"]>
}

interface Fields {
  readonly vocabulary: string
  readonly reason: string
  readonly message: string
  readonly why: string | undefined
  readonly cause?: unknown
  readonly after: Duration.Duration | undefined
  readonly beside: ReadonlyArray<ProvisionError>
}

class YieldFailure extends Data.TaggedError("Yield")<Fields> {
  readonly [TypeId]: typeof TypeId = TypeId
}
class TransientFailure extends Data.TaggedError("Transient")<Fields> {
  readonly [TypeId]: typeof TypeId = TypeId
}
class TerminalFailure extends Data.TaggedError("Terminal")<Fields> {
  readonly [TypeId]: typeof TypeId = TypeId
}
class UserActionRequiredFailure extends Data.TaggedError("UserActionRequired")<Fields> {
  readonly [TypeId]: typeof TypeId = TypeId
}
const classes = {
  Yield: YieldFailure,
  Transient: TransientFailure,
  Terminal: TerminalFailure,
  UserActionRequired: UserActionRequiredFailure
}

/** A stack is most of an error's cost, and of no use where nothing is wrong or where there is one already. */
const withoutStack = <A>(build: () => A): A => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return build()
  } finally {
    Error.stackTraceLimit = limit
  }
}

const make = (tag: Tag, fields: Fields): ProvisionError =>
  tag === "Yield" ? withoutStack(() => new YieldFailure(fields)) : new classes[tag](fields)

export const isFailure = (u: unknown): u is ProvisionError => typeof u === "object" && u !== null && TypeId in u

/** A copy that keeps the stack of the place where it failed. */
export const withBeside = (failure: ProvisionError, beside: ReadonlyArray<ProvisionError>): ProvisionError => {
  const { vocabulary, reason, message, why, cause, after } = failure
  const copy = withoutStack(() => new classes[failure._tag]({ vocabulary, reason, message, why, cause, after, beside }))
  Object.defineProperty(copy, "stack", { value: failure.stack, enumerable: false })
  return copy
}

export const alone = (failure: ProvisionError): ProvisionError =>
  failure.beside.length === 0 ? failure : withBeside(failure, [])

const placeholder = /\{(\w+)\}/gu
const namesMax = 5
export const messageMax = 2048

const shown = (value: Value | undefined): string => {
  if (value === undefined) throw new Error("missing parameter")
  if (typeof value === "string") return value
  if (typeof value === "number") return String(value)
  if (Duration.isDuration(value)) return Duration.format(value)
  const more = value.length - namesMax
  return more > 0 ? `${value.slice(0, namesMax).join(", ")} and ${more} more` : value.join(", ")
}

/** Status is bounded: so is what it shows. */
const clipped = (text: string): string => {
  if (text.length <= messageMax) return text
  const characters = Array.from(text)
  return characters.length <= messageMax ? text : `${characters.slice(0, messageMax - 1).join("")}…`
}

const reasonOf = (vocabulary: string, reason: string, { disposition, template }: Declared) => {
  const parameters = [...new Set([...template.matchAll(placeholder)].map((match) => String(match[1])))]
  const build = (values: Record<string, Value>, details: Timed = {}) =>
    make(disposition, {
      vocabulary,
      reason,
      message: clipped(template.replace(placeholder, (_, key: string) => shown(values[key]))),
      why: details.why,
      cause: details.cause,
      after: details.after === undefined ? undefined : Duration.fromInputUnsafe(details.after),
      beside: []
    })
  const construct = parameters.length === 0 ? (details?: Timed) => build({}, details) : build
  const is = (u: unknown): u is ProvisionError => isFailure(u) && u.vocabulary === vocabulary && u.reason === reason
  return Object.assign(construct, { disposition, template, vocabulary, reason, parameters, is })
}

/** How names of vocabularies and reasons look: they become labels of metrics and reasons of conditions. */
export const code = /^[a-z](?:[a-z0-9_]{0,61}[a-z0-9])?$/u

/** The compiler cannot follow `Object.fromEntries` into a mapped type: hence the cast. */
export const vocabulary = <const V extends string, D extends Record<string, Declared>>(
  name: V,
  reasons: D
): Vocabulary<V, D> => {
  for (const each of [name, ...Object.keys(reasons)]) {
    if (!code.test(each)) throw new Error(`vocabulary ${name}: ${each} is not a name of lower-case words`)
  }
  const members = Object.entries(reasons).map(([reason, declared]) => [reason, reasonOf(name, reason, declared)])
  return Object.fromEntries(members) as Vocabulary<V, D>
}
