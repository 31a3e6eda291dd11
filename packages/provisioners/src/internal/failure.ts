/** How failures are made: the model, its four classes, and the functions that a vocabulary consists of. */
import { type Cause, Data, Duration } from "effect"
import type { Identifier } from "../Identifier.ts"

export const TypeId: unique symbol = Symbol("@berth/provisioners/Failure")

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
  const characters = [...text]
  return characters.length <= messageMax ? text : `${characters.slice(0, messageMax - 1).join("")}…`
}

type Details = { readonly why?: string; readonly cause?: unknown; readonly after?: Duration.Input }

const reasonOf = (vocabulary: string, reason: string, { disposition, template }: Declared) => {
  const parameters = [...new Set([...template.matchAll(placeholder)].map((match) => String(match[1])))]
  const build = (values: Record<string, Value>, details: Details = {}) =>
    make(disposition, {
      vocabulary,
      reason,
      message: clipped(template.replace(placeholder, (_, key: string) => shown(values[key]))),
      why: details.why,
      cause: details.cause,
      after: details.after === undefined ? undefined : Duration.fromInputUnsafe(details.after),
      beside: []
    })
  const construct = parameters.length === 0 ? (details?: Details) => build({}, details) : build
  const is = (u: unknown): u is ProvisionError => isFailure(u) && u.vocabulary === vocabulary && u.reason === reason
  return Object.assign(construct, { disposition, template, vocabulary, reason, parameters, is })
}

/** How names of vocabularies and reasons look: they become labels of metrics and reasons of conditions. */
export const code = /^[a-z](?:[a-z0-9_]{0,61}[a-z0-9])?$/u

/** `Out` is the mapped type of the declarations; the compiler cannot follow `Object.fromEntries` there. */
export const vocabulary = <Out>(name: string, reasons: Record<string, Declared>): Out => {
  for (const each of [name, ...Object.keys(reasons)]) {
    if (!code.test(each)) throw new Error(`vocabulary ${name}: ${each} is not a name of lower-case words`)
  }
  const members = Object.entries(reasons).map(([reason, declared]) => [reason, reasonOf(name, reason, declared)])
  return Object.fromEntries(members) as Out
}
