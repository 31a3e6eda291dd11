/** Makes a structural schema, as a CRD needs it, of Effect's JSON Schema. */
import { Schema } from "effect"
import { audit, auditPattern } from "./structuralAudit.ts"
import { isNode, kept, known, merge, type Node, nodes, type Path, refuse, unbounded } from "./structuralNode.ts"

type Definitions = Readonly<Record<string, unknown>>
type Seen = ReadonlySet<string>

/** Follows references and lifts `allOf`, the encoded side of classes and the home of late annotations. */
const flat = (node: Node, definitions: Definitions, seen: Seen, path: Path): readonly [Node, Seen] => {
  const { $ref, allOf, ...own } = node
  let out: Node = own
  let met = seen
  if (typeof $ref === "string") {
    const name = $ref.replace("#/$defs/", "")
    if (seen.has(name)) refuse(path, `recursion through ${name}`)
    const target = definitions[decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")]
    const found = isNode(target) ? target : refuse(path, `no definition ${name}`)
    const [inner, more] = flat(found, definitions, new Set([...seen, name]), path)
    out = merge(inner, own)
    met = more
  }
  for (const member of nodes(allOf)) {
    const [inner, more] = flat(member, definitions, met, path)
    // An index signature beside properties: the object is open.
    const open = "additionalProperties" in inner && "properties" in out
    out = open ? { ...out, "x-kubernetes-preserve-unknown-fields": true } : merge(out, inner)
    met = more
  }
  return [out, met]
}

/** The API server refuses null wherever there is an enum, with null among its values or without: a rule takes its place. */
const nullable = (member: Node): Node => {
  const { enum: values, ...other } = member
  if (!Array.isArray(values)) return { ...member, nullable: true }
  const rule = { rule: `self in ${JSON.stringify(values)}`, message: `must be one of ${values.join(", ")}` }
  const longest = Math.max(...values.map((value) => Array.from(String(value)).length))
  const bound = other["type"] === "string" ? { maxLength: longest } : {}
  return merge({ ...other, ...bound, nullable: true, "x-kubernetes-validations": [rule] }, {})
}

/** A keyword about strings says nothing about integers, and the other way round: both may stand beside each other. */
const intOrString = (members: ReadonlyArray<Node>, path: Path): Node => {
  const merged = members.reduce((all, { type: _type, ...member }) => merge(all, member), {})
  if (members.some((member) => "enum" in member)) refuse(path, "literals in a union of integers and strings")
  return { "x-kubernetes-int-or-string": true, ...merged }
}

const union = (node: Node, definitions: Definitions, seen: Seen, path: Path): Node => {
  const { anyOf, ...rest } = node
  if (anyOf === undefined) return node
  const all = nodes(anyOf).map((member) => flat(member, definitions, seen, path)[0])
  const members = all.filter((member) => member["type"] !== "null")
  const hasNull = members.length < all.length
  const [only] = members
  if (only !== undefined && members.length === 1) return merge(hasNull ? nullable(only) : only, rest)
  const types = new Set(members.map((member) => member["type"]))
  if (members.length === 2 && types.has("integer") && types.has("string")) {
    return merge({ ...intOrString(members, path), ...(hasNull && { nullable: true }) }, rest)
  }
  return refuse(path, "a union: use Kind.exactlyOne over optional fields, literals of one type, or Kind.IntOrString")
}

/** Kubernetes' exclusive bounds are flags beside the bound. The bounds of an Int stay: beyond them JSON loses digits. */
const numbers = (node: Record<string, unknown>): void => {
  const values = node["enum"]
  if (node["type"] === "number" && Array.isArray(values) && values.every(Number.isInteger)) node["type"] = "integer"
  for (const side of ["Minimum", "Maximum"] as const) {
    const bound = node[`exclusive${side}`]
    if (typeof bound !== "number") continue
    const name = side.toLowerCase()
    const plain = node[name]
    const stricter = typeof plain !== "number" || (side === "Minimum" ? bound >= plain : bound <= plain)
    if (stricter) node[name] = bound
    if (stricter) node[`exclusive${side}`] = true
    else delete node[`exclusive${side}`]
  }
}

const arrays = (node: Record<string, unknown>, path: Path): void => {
  const items = node["items"]
  const prefix: ReadonlyArray<unknown> = Array.isArray(node["prefixItems"]) ? node["prefixItems"] : []
  if (prefix.some((each) => JSON.stringify(each) !== JSON.stringify(items))) refuse(path, "a tuple")
  if (node["uniqueItems"] === true) node["x-kubernetes-list-type"] ??= "set"
  const keys = node["x-kubernetes-list-map-keys"]
  const properties = isNode(items) && isNode(items["properties"]) ? items["properties"] : {}
  const required: ReadonlyArray<unknown> = isNode(items) && Array.isArray(items["required"]) ? items["required"] : []
  for (const key of Array.isArray(keys) ? keys : []) {
    const property = properties[String(key)]
    const always = required.includes(key) || (isNode(property) && "default" in property)
    if (!always) refuse(path, `list key ${key} is neither required nor defaulted`)
  }
}

const boundedFormats: ReadonlySet<unknown> = new Set(["date", "date-time", "duration"])

/** What a CEL rule over the node could cost is estimated from its bound; without one the API server assumes megabytes. */
const bounds = (node: Node, path: Path): void => {
  if (node[unbounded] === true || node["x-kubernetes-preserve-unknown-fields"] === true) return
  const { additionalProperties, enum: values, format, maxItems, maxLength, maxProperties, type } = node
  const isText = type === "string" || node["x-kubernetes-int-or-string"] === true
  if (isText && values === undefined && maxLength === undefined && !boundedFormats.has(format)) {
    refuse(path, "a string without a bound: use Kind.Text, isMaxCodePoints or Kind.unbounded")
  }
  if (type === "array" && maxItems === undefined) {
    refuse(path, "a list without a bound: use isMaxLength or Kind.unbounded")
  }
  if (isNode(additionalProperties) && maxProperties === undefined) {
    refuse(path, "a map without a bound: use isMaxProperties or Kind.unbounded")
  }
}

/** The API server lets a list through where a string has a format (1.36): its rules do not, even one that is always true. */
const formats = (node: Record<string, unknown>): void => {
  if (node["type"] !== "string" || node["format"] === undefined) return
  const before = nodes(node["x-kubernetes-validations"])
  node["x-kubernetes-validations"] = [...before, { rule: "self == self", message: "must be a string" }]
}

const patterns = (node: Node, path: Path): void => {
  for (const { pattern } of [node, ...nodes(node["allOf"])])
    if (typeof pattern === "string") auditPattern(pattern, path)
}

const isAnything = (node: Node) => Object.keys(node).length === 1 && JSON.stringify(node["not"]) === '{"type":"null"}'

const structural = (raw: Node, definitions: Definitions, before: Seen, path: Path): Node => {
  const [lifted, seen] = flat(raw, definitions, before, path)
  // How Effect writes a struct without fields.
  const node: Record<string, unknown> = isAnything(lifted)
    ? { type: "object" }
    : { ...union(lifted, definitions, seen, path) }
  for (const key of Object.keys(node)) if (!known.has(key)) refuse(path, `${key} has no counterpart`)
  if (node["type"] === "null") refuse(path, "null alone has no counterpart")
  const under = (child: unknown, name: string): Node =>
    structural(isNode(child) ? child : {}, definitions, seen, [...path, name])
  numbers(node)
  if (node["minLength"] === 0) delete node["minLength"]
  const { additionalProperties, items, prefixItems, properties } = node
  delete node["additionalProperties"]
  if (isNode(properties)) {
    if (isNode(additionalProperties)) refuse(path, "properties beside an index signature")
    const below = Object.entries(properties).map(([key, child]) => [key, under(child, key)])
    node["properties"] = Object.fromEntries(below)
  } else if (isNode(additionalProperties)) node["additionalProperties"] = under(additionalProperties, "*")
  if (items !== undefined || node["type"] === "array") node["items"] = under(items, "[]")
  if (Array.isArray(prefixItems)) node["prefixItems"] = prefixItems.map((each) => under(each, "[]"))
  arrays(node, path)
  if (node["type"] === undefined && node["x-kubernetes-int-or-string"] !== true) {
    node["x-kubernetes-preserve-unknown-fields"] = true
  }
  formats(node)
  patterns(node, path)
  bounds(node, path)
  return Object.fromEntries(kept.filter((key) => node[key] !== undefined).map((key) => [key, node[key]]))
}

/** The structural schema of what `from` encodes to; throws `Unrepresentable` with the path of what it cannot say. */
export const schema = (from: Schema.Constraint, root: string): Node => {
  audit(from, [root])
  const { definitions, schema } = Schema.toJsonSchemaDocument(from, {
    includeAnnotationKey: (key) => key.startsWith("x-kubernetes-") || key === unbounded
  })
  return structural(schema, definitions, new Set(), [root])
}
