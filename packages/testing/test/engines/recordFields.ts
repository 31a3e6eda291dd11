/** Writes `src/internal/engines/builtinFields.ts` from the OpenAPI documents of a real API server. A kind that is new is named there first. */
import { readFileSync, writeFileSync } from "node:fs"
import { KIND_TYPES } from "../../src/internal/engines/builtinFields.ts"
import { arrayOf, at, isObject, type JsonObject, objectOf, stringOf } from "../../src/internal/engines/json.ts"
import type { Oracle } from "./oracle.ts"

const file = new URL("../../src/internal/engines/builtinFields.ts", import.meta.url)
const groupOf = (kind: string): string => kind.split(".").slice(1).join(".")
const last = (text: string, separator: string): string => text.split(separator).at(-1) ?? ""

export const recordFields = async (oracle: Oracle): Promise<void> => {
  const schemas: JsonObject = {}
  const versions = new Map([["", "v1"]])
  for (const group of new Set(Object.keys(KIND_TYPES).map(groupOf))) {
    const { body: served } = await oracle.call("GET", `/apis/${group}`)
    const version = group === "" ? "v1" : stringOf(at(served, "preferredVersion", "version"))
    versions.set(group, version)
    const path = group === "" ? `api/${version}` : `apis/${group}/${version}`
    const { body } = await oracle.call("GET", `/openapi/v3/${path}`)
    Object.assign(schemas, objectOf(at(body, "components", "schemas")))
  }

  /** The type that a schema refers to, itself or as all that it is. */
  const referred = (schema: unknown): string | undefined =>
    [schema, ...arrayOf(at(schema, "allOf"))]
      .map((each) => last(stringOf(at(each, "$ref")), "/"))
      .find((name) => isObject(at(schemas, name, "properties")))

  const names = new Map<string, string>()

  /** The last part of a type's name, with its group where another type has taken that. */
  const nameOf = (type: string): string => {
    const parts = type.split(".")
    const short = parts.at(-1) ?? ""
    const name = [...names].some(([other, taken]) => taken === short && other !== type)
      ? `${(parts.at(-3) ?? "").replace(/^./u, (first) => first.toUpperCase())}${short}`
      : short
    const known = names.get(type) ?? name
    names.set(type, known)
    return known
  }

  const types = new Map<string, string>()

  const describe = (type: string): void => {
    if (types.has(nameOf(type))) return
    types.set(nameOf(type), "")
    const fields = Object.entries(objectOf(at(schemas, type, "properties"))).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const texts = fields.map(([field, schema]) => {
      const forms = [
        ["", referred(schema)],
        ["[]", referred(at(schema, "items"))],
        ["{}", referred(at(schema, "additionalProperties"))]
      ] as const
      const [mark, below] = forms.find(([, found]) => found !== undefined) ?? []
      if (below === undefined) return field
      const name = nameOf(below)
      describe(below)
      return `${field}${mark ?? ""}:${name}`
    })
    types.set(nameOf(type), texts.join(" "))
  }

  const kinds = Object.keys(KIND_TYPES).map((named) => {
    const [kind = ""] = named.split(".")
    const group = groupOf(named)
    const type = Object.keys(schemas).find(
      (name) =>
        last(name, ".") === kind &&
        arrayOf(at(schemas, name, "x-kubernetes-group-version-kind")).some(
          (each) =>
            at(each, "group") === group && at(each, "kind") === kind && at(each, "version") === versions.get(group)
        )
    )
    describe(type ?? "")
    return [named, nameOf(type ?? "")] as const
  })

  const sorted = [...types].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const [header = ""] = readFileSync(file, "utf8").split("/** The type of each kind")
  writeFileSync(
    file,
    `${header}/** The type of each kind, by \`Kind.group\`, or \`Kind\` in the core group. */
export const KIND_TYPES: { readonly [kind: string]: string } = ${JSON.stringify(Object.fromEntries(kinds))}

export const TYPES: { readonly [type: string]: string } = ${JSON.stringify(Object.fromEntries(sorted))}
`
  )
}
