/**
 * Makes the structural schemas of a kind's versions hold each other's fields. The API server drops what the schema of the version
 * that is written does not know, from the stored object too: one label that is changed through an old version would lose every new field.
 */
import { type Node, type Path, isNode, refuse } from "./structuralNode.ts"

/** What may differ. The fields are compared one by one, and so is whether they are needed. */
const free = new Set(["description", "title", "properties", "required"])

const stable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(stable)
  if (!isNode(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, child]) => [key, stable(child)])
  )
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(stable(a)) === JSON.stringify(stable(b))

const isNeeded = (name: string, { required }: Node): boolean => Array.isArray(required) && required.includes(name)

/** A field of other versions: there to be kept, and neither needed nor made up. */
const carried = (field: Node): Node => {
  const { default: _, ...rest } = field
  return rest
}

const fieldsOf = ({ properties }: Node): Readonly<Record<string, unknown>> => (isNode(properties) ? properties : {})

const completeProperties = (own: Node, others: ReadonlyArray<Node>, path: Path): Node => {
  const all = [own, ...others]
  const everything = [...new Set(all.flatMap((node) => Object.keys(fieldsOf(node))))]
  return Object.fromEntries(
    everything.map((name) => {
      const at = [...path, name]
      if (others.some((other) => isNeeded(name, other) !== isNeeded(name, own))) {
        refuse(at, "needed in one version, and not in another: it needs a default, or has to be optional")
      }
      const [first = {}, ...rest] = all.map((node) => fieldsOf(node)[name]).filter(isNode)
      const field = complete(first, rest, at)
      return [name, name in fieldsOf(own) ? field : carried(field)]
    })
  )
}

const completeBelow = (key: string, own: Node, others: ReadonlyArray<Node>, path: Path): unknown => {
  const [first, ...rest] = [own, ...others].map((node) => node[key])
  if (isNode(first) && rest.every(isNode)) return complete(first, rest, [...path, key === "items" ? "[]" : "*"])
  return rest.every((other) => same(first, other)) ? first : refuse(path, `another ${key} in another version`)
}

/** Items of a list, values of a map: completed in their turn, where there are any. */
const below = new Set(["items", "additionalProperties"])

/**
 * The schema of one version, with what only others have. Refuses what an object could say in one version and not in another.
 */
export const complete = (own: Node, others: ReadonlyArray<Node>, path: Path): Node => {
  const all = [own, ...others]
  for (const key of new Set(all.flatMap(Object.keys))) {
    const alike = free.has(key) || below.has(key) || others.every((other) => same(own[key], other[key]))
    if (!alike) refuse(path, `another ${key} in another version`)
  }
  const parts = [...below].filter((key) => all.some((node) => key in node))
  return {
    ...own,
    ...(all.some((node) => "properties" in node) && { properties: completeProperties(own, others, path) }),
    ...Object.fromEntries(parts.map((key) => [key, completeBelow(key, own, others, path)]))
  }
}
