/** Nodes of JSON Schema, and how two that hold at once become one. */
import { Data, Schema } from "effect"

export type Node = { readonly [key: string]: unknown }
export type Path = ReadonlyArray<string>

/**
 * A schema says something that a structural schema cannot say, or leaves out a bound that it needs.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unrepresentable extends Data.TaggedError("Unrepresentable")<{
  /** Where: names of fields from `spec` or `status`, `[]` for the items of a list, `*` for the values of a map. */
  readonly path: string
  readonly problem: string
}> {
  override get message() {
    return `${this.path}: ${this.problem}`
  }
}

/** A CRD that cannot be made is a programming error. */
export const refuse = (path: Path, problem: string): never => {
  throw new Unrepresentable({ path: path.join("."), problem })
}

export const isNode = (u: unknown): u is Node => typeof u === "object" && u !== null && !Array.isArray(u)
export const nodes = (u: unknown): ReadonlyArray<Node> => (Array.isArray(u) ? u.filter(isNode) : [])

const isJson = Schema.is(Schema.Json)
export const json = (value: unknown, path: Path): Schema.Json =>
  isJson(value) ? value : refuse(path, "a default that is not JSON")

/** The mark of what is unbounded on purpose. It does not get into the CRD. */
export const unbounded = "x-berth-unbounded"

/** What a CRD carries, in the order in which it is written. */
export const kept = [
  "type",
  "format",
  "title",
  "description",
  "nullable",
  "default",
  "enum",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "items",
  "required",
  "properties",
  "additionalProperties",
  "allOf",
  "x-kubernetes-int-or-string",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-validations"
] as const

const dropped = ["examples", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema"]
const translated = ["anyOf", "$ref", "prefixItems", "uniqueItems", unbounded]

/** Everything else has no counterpart, and must not get lost without a word. */
export const known: ReadonlySet<string> = new Set([...kept, ...dropped, ...translated])

const isLower = (key: string) => key.startsWith("min") || key === "exclusiveMinimum"
const isUpper = (key: string) => key.startsWith("max") || key === "exclusiveMaximum"

/** The value of a keyword that two nodes in conjunction both have; undefined when one node cannot say both. */
const both = (key: string, a: unknown, b: unknown): unknown => {
  if (JSON.stringify(a) === JSON.stringify(b)) return a
  if (key === "x-kubernetes-validations") return [...nodes(a), ...nodes(b)]
  if (typeof a === "number" && typeof b === "number") {
    return isLower(key) ? Math.max(a, b) : isUpper(key) ? Math.min(a, b) : undefined
  }
  if (key === "type" && [a, b].includes("integer") && [a, b].includes("number")) return "integer"
  if (key === "description" || key === "title" || key === "default") return b
  return undefined
}

/** One node for two in conjunction; what does not go together stays in `allOf`. */
export const merge = (left: Node, right: Node): Node => {
  const out: Record<string, unknown> = { ...left }
  const apart: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(right)) {
    const merged = key in out ? both(key, out[key], value) : value
    if (merged === undefined) apart[key] = value
    else out[key] = merged
  }
  return Object.keys(apart).length === 0 ? out : { ...out, allOf: [...nodes(out["allOf"]), apart] }
}
