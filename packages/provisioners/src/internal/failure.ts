import { Data, Duration } from "effect"
import type * as Disposition from "../Disposition.ts"

export const TypeId: unique symbol = Symbol("@berth/provisioners/Failure")

interface Fields {
  readonly vocabulary: string
  readonly reason: string
  readonly message: string
  readonly why: string | undefined
  readonly cause?: unknown
  readonly after: Duration.Duration | undefined
  readonly beside: ReadonlyArray<Disposition.ProvisionError>
}
class Yield extends Data.TaggedError("Yield")<Fields> {
  readonly [TypeId]: typeof TypeId = TypeId
}
class Transient extends Data.TaggedError("Transient")<Fields> {
  readonly [TypeId]: typeof TypeId = TypeId
}
class Terminal extends Data.TaggedError("Terminal")<Fields> {
  readonly [TypeId]: typeof TypeId = TypeId
}
class UserActionRequired extends Data.TaggedError("UserActionRequired")<Fields> {
  readonly [TypeId]: typeof TypeId = TypeId
}
const classes = { Yield, Transient, Terminal, UserActionRequired }

/** A yield is no failure: it carries no stack, which is most of an error's cost. */
const make = (tag: Disposition.Tag, fields: Fields): Disposition.ProvisionError => {
  if (tag !== "Yield") return new classes[tag](fields)
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  const failure = new Yield(fields)
  Error.stackTraceLimit = limit
  return failure
}

export const isFailure = (u: unknown): u is Disposition.ProvisionError =>
  typeof u === "object" && u !== null && TypeId in u

export const withBeside = (
  failure: Disposition.ProvisionError,
  beside: ReadonlyArray<Disposition.ProvisionError>
): Disposition.ProvisionError => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  const { vocabulary, reason, message, why, cause, after } = failure
  const copy = new classes[failure._tag]({ vocabulary, reason, message, why, cause, after, beside })
  Error.stackTraceLimit = limit
  Object.defineProperty(copy, "stack", { value: failure.stack, enumerable: false })
  return copy
}
export const alone = (failure: Disposition.ProvisionError): Disposition.ProvisionError =>
  failure.beside.length === 0 ? failure : withBeside(failure, [])

const placeholder = /\{(\w+)\}/gu
const namesMax = 5
const shown = (value: Disposition.Value | undefined): string => {
  if (value === undefined) throw new Error("missing parameter")
  if (typeof value === "string") return value
  if (typeof value === "number") return String(value)
  if (Duration.isDuration(value)) return Duration.format(value)
  const more = value.length - namesMax
  return more > 0 ? `${value.slice(0, namesMax).join(", ")} and ${more} more` : value.join(", ")
}

type Details = { readonly why?: string; readonly cause?: unknown; readonly after?: Duration.Input }

export const vocabulary = <V extends string, D extends Record<string, Disposition.Declared>>(
  name: V,
  reasons: D
): Disposition.Vocabulary<V, D> => {
  const members = Object.entries(reasons).map(([reason, { disposition, template }]) => {
    if (!/^[a-z][a-z0-9_]{0,62}$/u.test(reason)) throw new Error(`vocabulary ${name}: ${reason} is not a reason's name`)
    const parameters = [...new Set([...template.matchAll(placeholder)].map((match) => String(match[1])))]
    const build = (values: Record<string, Disposition.Value>, details: Details = {}) =>
      make(disposition, {
        vocabulary: name,
        reason,
        message: template.replace(placeholder, (_, key: string) => shown(values[key])),
        why: details.why,
        cause: details.cause,
        after: details.after === undefined ? undefined : Duration.fromInputUnsafe(details.after),
        beside: []
      })
    const construct = parameters.length === 0 ? (details?: Details) => build({}, details) : build
    const is = (u: unknown): u is Disposition.ProvisionError =>
      isFailure(u) && u.vocabulary === name && u.reason === reason
    return [reason, Object.assign(construct, { disposition, template, vocabulary: name, reason, parameters, is })]
  })
  return Object.fromEntries(members) as Disposition.Vocabulary<V, D>
}
