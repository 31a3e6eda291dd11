import { Data, Schema } from "effect"
import type * as Kind from "../Kind.ts"

type Node = { readonly [key: string]: unknown }
type Path = ReadonlyArray<string>

/** A schema says something that a structural schema cannot. */
export class Unrepresentable extends Data.TaggedError("Unrepresentable")<{
  readonly path: string
  readonly problem: string
}> {
  override get message() {
    return `${this.path}: ${this.problem}`
  }
}
const refuse = (path: Path, problem: string): never => {
  throw new Unrepresentable({ path: path.join("."), problem })
}

const isNode = (u: unknown): u is Node => typeof u === "object" && u !== null && !Array.isArray(u)
const nodes = (u: unknown): ReadonlyArray<Node> => (Array.isArray(u) ? u.filter(isNode) : [])
const isJson = Schema.is(Schema.Json)
/** A default must be JSON; anything else is a programming error. */
export const json = (value: unknown): Schema.Json => (isJson(value) ? value : refuse([], "a default that is not JSON"))

export const which = <T extends object, const K extends keyof T>(
  self: T,
  ...keys: ReadonlyArray<K>
): Kind.Variant<T, K> | undefined => {
  const key = keys.find((each) => self[each] !== undefined)
  return key === undefined ? undefined : ({ key, value: self[key] } as Kind.Variant<T, K>)
}

/** Keywords that a CRD carries, in the order in which they are written. */
const kept = [
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
const dropped = new Set(["examples", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema"])
const handled = new Set<string>([...kept, ...dropped, "anyOf", "$ref", "prefixItems", "uniqueItems"])

/** The value of a keyword that two schemas in conjunction both have; undefined when one schema cannot hold both. */
const both = (key: string, a: unknown, b: unknown): unknown => {
  if (JSON.stringify(a) === JSON.stringify(b)) return a
  if (key === "x-kubernetes-validations") return [...nodes(a), ...nodes(b)]
  if (typeof a === "number" && typeof b === "number")
    return key.startsWith("min") || key === "exclusiveMinimum"
      ? Math.max(a, b)
      : key.startsWith("max") || key === "exclusiveMaximum"
        ? Math.min(a, b)
        : undefined
  if (key === "type" && [a, b].includes("integer") && [a, b].includes("number")) return "integer"
  if (key === "description" || key === "title" || key === "default") return b
  return undefined
}

const merge = (left: Node, right: Node): Node => {
  const out: Record<string, unknown> = { ...left }
  const apart: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(right)) {
    const merged = key in out ? both(key, out[key], value) : value
    if (merged === undefined) apart[key] = value
    else out[key] = merged
  }
  return Object.keys(apart).length === 0 ? out : { ...out, allOf: [...nodes(out["allOf"]), apart] }
}

/** Follows references and lifts `allOf`, the encoded side of classes and the home of late annotations. */
const flat = (
  node: Node,
  definitions: Readonly<Record<string, unknown>>,
  seen: ReadonlySet<string>,
  path: Path
): readonly [Node, ReadonlySet<string>] => {
  const { $ref, allOf, ...own } = node
  let out: Node = own
  let met = seen
  if (typeof $ref === "string") {
    const name = $ref.replace("#/$defs/", "")
    if (seen.has(name)) refuse(path, `recursion through ${name}`)
    const target = definitions[decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")]
    const [inner, more] = flat(
      isNode(target) ? target : refuse(path, `no definition ${name}`),
      definitions,
      new Set([...seen, name]),
      path
    )
    out = merge(inner, own)
    met = more
  }
  for (const member of nodes(allOf)) {
    const [inner, more] = flat(member, definitions, met, path)
    // An index signature beside properties: the object is open.
    out =
      "additionalProperties" in inner && "properties" in out
        ? { ...out, "x-kubernetes-preserve-unknown-fields": true }
        : merge(out, inner)
    met = more
  }
  return [out, met]
}

const union = (
  node: Node,
  definitions: Readonly<Record<string, unknown>>,
  seen: ReadonlySet<string>,
  path: Path
): Node => {
  const { anyOf, ...rest } = node
  if (anyOf === undefined) return node
  const all = nodes(anyOf).map((member) => flat(member, definitions, seen, path)[0])
  const members = all.filter((member) => member["type"] !== "null")
  const nullable = members.length < all.length ? { nullable: true } : {}
  const [only] = members
  if (only !== undefined && members.length === 1) {
    const { enum: values, ...other } = only
    // The API server refuses null wherever there is an enum, with null among its values or without: a rule takes its place.
    return Array.isArray(values) && members.length < all.length
      ? merge(
          {
            ...other,
            ...nullable,
            "x-kubernetes-validations": [
              { rule: `self in ${JSON.stringify(values)}`, message: `must be one of ${values.join(", ")}` }
            ]
          },
          rest
        )
      : merge({ ...only, ...nullable }, rest)
  }
  if (
    members
      .map((member) => member["type"])
      .sort()
      .join() === "integer,string"
  )
    return merge({ "x-kubernetes-int-or-string": true, ...nullable }, rest)
  return refuse(path, "a union: use Kind.exactlyOne over optional fields, literals of one type, or Kind.IntOrString")
}

/** JSON Schema's integers carry the bounds of a JavaScript number; Kubernetes' exclusive bounds are flags beside the bound. */
const numbers = (node: Record<string, unknown>) => {
  if (
    node["type"] === "number" &&
    Array.isArray(node["enum"]) &&
    node["enum"].every((value) => Number.isInteger(value))
  )
    node["type"] = "integer"
  if (node["minimum"] === Number.MIN_SAFE_INTEGER) delete node["minimum"]
  if (node["maximum"] === Number.MAX_SAFE_INTEGER) delete node["maximum"]
  for (const side of ["Minimum", "Maximum"]) {
    const bound = node[`exclusive${side}`]
    if (typeof bound === "number") Object.assign(node, { [side.toLowerCase()]: bound, [`exclusive${side}`]: true })
  }
}

const arrays = (node: Record<string, unknown>, path: Path) => {
  const items = node["items"]
  if (
    Array.isArray(node["prefixItems"]) &&
    node["prefixItems"].some((each) => JSON.stringify(each) !== JSON.stringify(items))
  )
    refuse(path, "a tuple")
  if (node["uniqueItems"] === true) node["x-kubernetes-list-type"] ??= "set"
  const keys = node["x-kubernetes-list-map-keys"]
  const properties = isNode(items) && isNode(items["properties"]) ? items["properties"] : {}
  const required = isNode(items) && Array.isArray(items["required"]) ? items["required"] : []
  for (const key of Array.isArray(keys) ? keys : []) {
    const property = properties[String(key)]
    if (!required.includes(key) && !(isNode(property) && "default" in property))
      refuse(path, `list key ${key} is neither required nor defaulted`)
  }
}

const structural = (
  raw: Node,
  definitions: Readonly<Record<string, unknown>>,
  before: ReadonlySet<string>,
  path: Path
): Node => {
  const [lifted, seen] = flat(raw, definitions, before, path)
  const node: Record<string, unknown> = { ...union(lifted, definitions, seen, path) }
  for (const key of Object.keys(node)) if (!handled.has(key)) refuse(path, `${key} has no counterpart`)
  const under = (child: unknown, name: string): Node =>
    structural(isNode(child) ? child : {}, definitions, seen, [...path, name])
  numbers(node)
  if (isNode(node["properties"])) {
    node["properties"] = Object.fromEntries(
      Object.entries(node["properties"]).map(([key, child]) => [key, under(child, key)])
    )
    if (isNode(node["additionalProperties"])) refuse(path, "properties beside an index signature")
    delete node["additionalProperties"]
  }
  if (isNode(node["additionalProperties"])) node["additionalProperties"] = under(node["additionalProperties"], "*")
  else delete node["additionalProperties"]
  if (node["items"] !== undefined || node["type"] === "array") node["items"] = under(node["items"], "[]")
  if (Array.isArray(node["prefixItems"])) node["prefixItems"] = node["prefixItems"].map((each) => under(each, "[]"))
  arrays(node, path)
  if (node["type"] === undefined && node["x-kubernetes-int-or-string"] !== true)
    node["x-kubernetes-preserve-unknown-fields"] = true
  return Object.fromEntries(kept.filter((key) => node[key] !== undefined).map((key) => [key, node[key]]))
}

/** What Effect leaves out or weakens without a word, found in the representation that the JSON Schema is made from. */
const audit = (u: unknown, path: Path): void => {
  if (Array.isArray(u)) return u.forEach((each) => audit(each, path))
  if (!isNode(u)) return
  for (const check of u["_tag"] === "String" ? nodes(u["checks"]) : []) {
    const { id, payload } = isNode(check["representation"]) ? check["representation"] : {}
    if (id === "effect/schema/isPattern" && isNode(payload) && payload["flags"] !== "u")
      refuse(path, "a pattern without exactly the flag u is not written")
    if (id === "effect/schema/isMinLength" && isNode(payload) && Number(payload["minLength"]) > 1)
      refuse(path, "isMinLength is written halved: use isMinCodePoints")
  }
  for (const [key, child] of Object.entries(u))
    if (key !== "annotations")
      audit(child, key === "type" && typeof u["name"] === "string" ? [...path, u["name"]] : path)
}

export const schema = (from: Schema.Constraint, root: string): Node => {
  audit(Schema.toRepresentation(Schema.toCodecJson(Schema.toEncoded(from))), [root])
  const { definitions, schema } = Schema.toJsonSchemaDocument(from, {
    includeAnnotationKey: (key) => key.startsWith("x-kubernetes-")
  })
  return structural(schema, definitions, new Set(), [root])
}

export const definition = (kind: Kind.Declared): Schema.Json =>
  json({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.scope,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        ...(kind.shortNames && { shortNames: kind.shortNames }),
        ...(kind.categories && { categories: kind.categories })
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: (kind.columns ?? []).map(({ name, path, priority, type }) => ({
            name,
            jsonPath: path,
            type: type ?? "string",
            ...(priority !== undefined && { priority })
          })),
          schema: {
            openAPIV3Schema: {
              type: "object",
              required: ["spec"],
              properties: {
                apiVersion: { type: "string" },
                kind: { type: "string" },
                metadata: { type: "object" },
                spec: schema(kind.spec, "spec"),
                status: schema(kind.status, "status")
              }
            }
          }
        }
      ]
    }
  })
