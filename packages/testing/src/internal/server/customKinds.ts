/**
 * The kinds that a CustomResourceDefinition makes.
 */
import { compile, type Compiled } from "../engines/structural.ts"
import { ageOf, column, name } from "./columns.ts"
import { at, fields, groupVersion, isFields, list, shown, text, type Fields, type Obj } from "./json.ts"
import * as JsonPath from "./jsonPath.ts"
import { customVerbs, type Column, type CustomSchema, type Resource, type ScalePaths } from "./resource.ts"

/** What a cell shows of a value; nothing where it is of another type than the column. */
const printed = (value: unknown, type: string, nowMs: number): unknown => {
  switch (type) {
    case "date":
      return ageOf(value, nowMs)
    case "string":
      return shown(value)
    case "integer":
    case "number":
      return typeof value === "number" ? value : null
    default:
      return typeof value === "boolean" ? value : null
  }
}

const customAge = column("Age", ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs), "date")

const columnOf = (definition: Fields): Column => {
  const find = JsonPath.parse(text(definition["jsonPath"]))
  const type = text(definition["type"])
  return {
    name: text(definition["name"]),
    type,
    format: text(definition["format"]),
    description:
      text(definition["description"]) ||
      `Custom resource definition column (in JSONPath format): ${text(definition["jsonPath"])}`,
    priority: Number(definition["priority"] ?? 0),
    value: (object, nowMs) => {
      // Of several values the first is shown.
      const [first] = find(object)
      return first === undefined ? null : printed(first, type, nowMs)
    }
  }
}

const pathOf = (path: unknown): ReadonlyArray<string> =>
  text(path)
    .split(".")
    .filter((part) => part !== "")

const scaleOf = (subresources: Fields): ScalePaths | undefined => {
  const scale = subresources["scale"]
  if (!isFields(scale)) return undefined
  return {
    specReplicas: pathOf(scale["specReplicasPath"]),
    statusReplicas: pathOf(scale["statusReplicasPath"]),
    selector: scale["labelSelectorPath"] === undefined ? undefined : pathOf(scale["labelSelectorPath"])
  }
}

const schemas = new WeakMap<Fields, CustomSchema>()

/** Compiled when first used: a definition may be there without its objects ever being written. */
const schemaOf = (version: Fields): CustomSchema => {
  const known = schemas.get(version)
  if (known !== undefined) return known
  const openAPIV3Schema = fields(at(version, "schema", "openAPIV3Schema"))
  let made: Compiled | undefined
  const compiled = () => (made ??= compile(openAPIV3Schema))
  const schema: CustomSchema = {
    openAPIV3Schema,
    prune: (object) => compiled().prune(object),
    defaults: (object, keepNulls = false) => compiled().defaults(object, { keepNulls }),
    validate: (object, old, tolerated) =>
      compiled().validate(object, { tolerated, ...(old === undefined ? {} : { old }) }),
    unknown: (object) => compiled().unknownFields(object)
  }
  schemas.set(version, schema)
  return schema
}

const deprecation = (crd: Obj, version: Fields): string | undefined => {
  if (version["deprecated"] !== true) return undefined
  const given = text(version["deprecationWarning"])
  if (given !== "") return given
  const group = text(at(crd, "spec", "group"))
  const kind = text(at(crd, "spec", "names", "kind"))
  const better = list(at(crd, "spec", "versions"))
    .filter((other) => at(other, "served") === true && at(other, "deprecated") !== true)
    .map((other) => text(at(other, "name")))
    .filter((other) => compareVersions(other, text(version["name"])) < 0)
    .sort(compareVersions)
  const advice = better[0] === undefined ? "" : `; use ${group}/${better[0]} ${kind}`
  return `${group}/${text(version["name"])} ${kind} is deprecated${advice}`
}

const resourceOf = (crd: Obj, version: Fields, storage: Fields): Resource => {
  const spec = fields(crd["spec"])
  const names = fields(spec["names"])
  const group = text(spec["group"])
  const plural = text(names["plural"])
  const kind = text(names["kind"])
  const subresources = fields(version["subresources"])
  const columns = list(version["additionalPrinterColumns"])
  const versionName = text(version["name"])
  return {
    group,
    version: versionName,
    kind,
    plural,
    singular: text(names["singular"]) || kind.toLowerCase(),
    shortNames: list(names["shortNames"]).map(text),
    categories: list(names["categories"]).map(text),
    namespaced: spec["scope"] === "Namespaced",
    storage: `${group}/${plural}`,
    storageApiVersion: groupVersion(group, text(storage["name"])),
    served: version["served"] === true,
    verbs: customVerbs,
    status: subresources["status"] !== undefined,
    scale: scaleOf(subresources),
    subresources: [],
    generation: true,
    selectable: list(version["selectableFields"]).map((field) => text(at(field, "jsonPath")).replace(/^\./u, "")),
    columns: columns.length === 0 ? [name, customAge] : [name, ...columns.map((column) => columnOf(fields(column)))],
    conditionalOnly: true,
    custom: schemaOf(version),
    storedCustom: schemaOf(storage),
    deprecationWarning: deprecation(crd, version),
    convert: undefined
  }
}

/** How stable a version is, as Kubernetes orders them: v2, v1, v1beta1, v1alpha1, then anything else. */
const rank = (version: string): ReadonlyArray<number> => {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/u.exec(version)
  if (match === null) return [0, 0, 0]
  const [, major, stage, minor] = match
  return [stage === undefined ? 3 : stage === "beta" ? 2 : 1, Number(major), Number(minor ?? 0)]
}

/** @internal */
export const compareVersions = (a: string, b: string): number => {
  const left = rank(a)
  const right = rank(b)
  const index = left.findIndex((value, i) => value !== right[i])
  if (index < 0) return a < b ? -1 : a > b ? 1 : 0
  return (right[index] ?? 0) - (left[index] ?? 0)
}

/** The served versions of a definition, the most stable first. @internal */
export const customKinds = (crd: Obj): ReadonlyArray<Resource> => {
  const versions = list(at(crd, "spec", "versions")).map(fields)
  const storage = versions.find((version) => version["storage"] === true) ?? {}
  return versions
    .filter((version) => version["served"] === true || version === storage)
    .sort((a, b) => compareVersions(text(a["name"]), text(b["name"])))
    .map((version) => resourceOf(crd, version, storage))
}
