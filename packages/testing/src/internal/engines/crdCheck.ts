/**
 * Refuses CustomResourceDefinitions that a real server refuses: schemas that are not structural, rules that do not compile.
 *
 * **Caveats**
 * - Estimated costs of CEL rules are not limited.
 *
 * @since 0.1.0
 */
import { type Cause, forbidden, invalid, notSupported, required } from "./causes.ts"
import { checkNames } from "./crdNames.ts"
import { checkRules } from "./crdRules.ts"
import { arrayOf, at, clone, equal, isObject, objectOf } from "./json.ts"
import { pruneInPlace } from "./prune.ts"
import { compileRegex } from "./regex.ts"
import { isEmbedded, isIntOrString, isPreserving, type Schema } from "./schema.ts"
import { validateSchema } from "./schemaValidate.ts"

const TYPES = ["array", "boolean", "integer", "number", "object", "string"]
const LIST_TYPES = ["atomic", "set", "map"]
const MAP_TYPES = ["granular", "atomic"]

const isEstablished = (crd: unknown): boolean =>
  arrayOf(at(crd, "status", "conditions")).some(
    (condition) => at(condition, "type") === "Established" && at(condition, "status") === "True"
  )

/** The versions that objects may be stored in: the present one is among them, and all of them are there. */
const checkStored = (crd: unknown): ReadonlyArray<Cause> => {
  // Only the server says where objects are stored: nothing is judged before it has.
  if (at(crd, "status") === undefined) return []
  const stored = arrayOf(at(crd, "status", "storedVersions"))
  const path = "status.storedVersions"
  if (stored.length === 0) return [invalid(path, null, "must have at least one stored version")]
  const left = new Map(stored.map((version, index) => [version, index]))
  const lacking = arrayOf(at(crd, "spec", "versions")).flatMap((version) => {
    const name = at(version, "name")
    // A version that is named twice is found once only.
    const isThere = left.delete(name)
    return isThere || at(version, "storage") !== true
      ? []
      : [invalid(path, stored, `must have the storage version ${String(name)}`)]
  })
  const missing = [...left].map(([version, index]) =>
    invalid(
      `${path}[${index}]`,
      version,
      `missing from spec.versions; ${String(version)} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${String(version)} and removes ${String(version)} from status.storedVersions`
    )
  )
  return [...lacking, ...missing]
}

/** What cannot be changed any more. */
const checkChange = (crd: unknown, old: unknown): ReadonlyArray<Cause> =>
  [["scope"], ["names", "kind"]].flatMap((path) => {
    const value = at(crd, "spec", ...path)
    const isChanged = isEstablished(old) && value !== at(old, "spec", ...path)
    return isChanged ? [invalid(`spec.${path.join(".")}`, value, "field is immutable")] : []
  })

/**
 * What is wrong with a CustomResourceDefinition; none means that it is accepted. `old` is the stored one of an update.
 */
export const checkCrd = (crd: unknown, old?: unknown): ReadonlyArray<Cause> => {
  const versions = arrayOf(at(crd, "spec", "versions"))
  const schemas = versions.map((version) => at(version, "schema", "openAPIV3Schema"))
  const [first] = schemas
  const isShared = schemas.every((schema) => equal(schema, first))
  const own = isShared
    ? [...(isObject(first) ? checkRoot(first, "spec.validation.openAPIV3Schema") : [])]
    : schemas.flatMap((schema, index) =>
        isObject(schema) ? checkRoot(schema, `spec.versions[${index}].schema.openAPIV3Schema`) : []
      )
  const missing = schemas.flatMap((schema, index) =>
    isObject(schema) ? [] : [required(`spec.versions[${index}].schema.openAPIV3Schema`)]
  )
  return [
    ...checkNames(objectOf(crd)),
    ...missing,
    ...own,
    ...checkStored(crd),
    ...(old === undefined ? [] : checkChange(crd, old))
  ]
}

/** Where a schema stands in a CustomResourceDefinition. */
interface Place {
  readonly path: string
  /** Inside `allOf`, `anyOf`, `oneOf` or `not`, where only value validations may stand. */
  readonly isNested: boolean
  /** Inside an int-or-string, where the two types may be named. */
  readonly isUnion?: boolean
}

const checkRoot = (schema: Schema, path: string): ReadonlyArray<Cause> => {
  const metadata = schema.properties?.["metadata"]
  const causes =
    schema.type === undefined
      ? [required(`${path}.type`, "must not be empty at the root")]
      : [...checkSchema(schema, { path, isNested: false })]
  if (
    metadata !== undefined &&
    Object.keys(metadata.properties ?? {}).some((key) => key !== "name" && key !== "generateName")
  ) {
    causes.push(
      forbidden(
        `${path}.properties[metadata]`,
        "must not specify anything other than name and generateName, but metadata is implicitly specified"
      )
    )
  }
  return [...causes, ...checkRules(schema, path)]
}

const checkSchema = (schema: Schema, place: Place): ReadonlyArray<Cause> => [
  ...checkKeywords(schema, place),
  ...(place.isNested ? checkNested(schema, place) : checkStructure(schema, place)),
  ...childrenOf(schema, place).flatMap(([child, below]) => checkSchema(child, below))
]

const childrenOf = (schema: Schema, { path, isNested, isUnion }: Place): ReadonlyArray<readonly [Schema, Place]> => {
  const nested = (name: "allOf" | "anyOf" | "oneOf") =>
    (schema[name] ?? []).map((child, index): readonly [Schema, Place] => [
      child,
      { path: `${path}.${name}[${index}]`, isNested: true, isUnion: isUnion === true || isIntOrString(schema) }
    ])
  const values = schema.additionalProperties
  return [
    ...Object.entries(schema.properties ?? {}).map(([key, child]): readonly [Schema, Place] => [
      child,
      { path: `${path}.properties[${key}]`, isNested }
    ]),
    ...(isObject(values) ? [[values, { path: `${path}.additionalProperties`, isNested }] as const] : []),
    ...(schema.items === undefined ? [] : [[schema.items, { path: `${path}.items`, isNested }] as const]),
    ...nested("allOf"),
    ...nested("anyOf"),
    ...nested("oneOf"),
    ...(schema.not === undefined ? [] : [[schema.not, { path: `${path}.not`, isNested: true }] as const])
  ]
}

const FORBIDDEN = ["$ref", "$schema", "id", "definitions", "dependencies", "patternProperties", "additionalItems"]

const checkKeywords = (schema: Schema, { path }: Place): ReadonlyArray<Cause> => {
  const causes: Array<Cause> = FORBIDDEN.filter((key) => Object.hasOwn(schema, key)).map((key) =>
    forbidden(`${path}.${key}`, `${key} is not supported`)
  )
  if (schema.uniqueItems === true) {
    causes.push(
      forbidden(
        `${path}.uniqueItems`,
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
      )
    )
  }
  if (schema.type !== undefined && !TYPES.includes(schema.type)) {
    causes.push(notSupported(`${path}.type`, schema.type, TYPES))
  }
  if (schema.pattern !== undefined && compileRegex(schema.pattern) === undefined) {
    causes.push(
      invalid(
        `${path}.pattern`,
        schema.pattern,
        `must be a valid regular expression, but isn't: ${regexError(schema.pattern)}`
      )
    )
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    causes.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined"))
  }
  if (schema.properties !== undefined && isObject(schema.additionalProperties)) {
    causes.push(forbidden(`${path}.additionalProperties`, "additionalProperties and properties are mutual exclusive"))
  }
  return causes
}

const regexError = (pattern: string): string => {
  const group = /\(\?<?[=!]/u.exec(pattern)?.[0]
  return group === undefined
    ? `error parsing regexp: missing closing ): \`${pattern}\``
    : `error parsing regexp: invalid or unsupported Perl syntax: \`${group}\``
}

const STRUCTURAL_ONLY = [
  "type",
  "title",
  "description",
  "default",
  "nullable",
  "additionalProperties",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type"
]

const INT_OR_STRING: ReadonlyArray<Schema> = [{ type: "integer" }, { type: "string" }]

const checkNested = (schema: Schema, { path, isUnion }: Place): ReadonlyArray<Cause> => {
  // `anyOf: [{type: integer}, {type: string}]` is how int-or-string is spelt.
  if (isUnion === true && /\.anyOf\[[01]\]$/u.test(path) && INT_OR_STRING.some((branch) => equal(branch, schema)))
    return []
  return STRUCTURAL_ONLY.filter((key) => Object.hasOwn(schema, key)).map((key) =>
    forbidden(`${path}.${key}`, `must be ${key === "default" ? "undefined" : "empty"} to be structural`)
  )
}

const checkStructure = (schema: Schema, { path }: Place): ReadonlyArray<Cause> => {
  const causes: Array<Cause> = []
  const isReference = Object.hasOwn(schema, "$ref")
  if (schema.type === undefined && !isIntOrString(schema) && !isPreserving(schema) && !isReference) {
    const kind = path.endsWith(".items") ? "array items" : "object fields"
    causes.push(required(`${path}.type`, `must not be empty for specified ${kind}`))
  }
  if (schema.type === "array" && schema.items === undefined) {
    causes.push(required(`${path}.items`, "must be specified"))
  }
  if (isEmbedded(schema) && !isPreserving(schema) && schema.properties === undefined) {
    causes.push(
      required(
        `${path}.properties`,
        "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
      )
    )
  }
  return [...causes, ...checkListType(schema, path), ...checkDefault(schema, path)]
}

const checkListType = (schema: Schema, path: string): ReadonlyArray<Cause> => {
  const causes: Array<Cause> = []
  const listType = schema["x-kubernetes-list-type"]
  const mapType = schema["x-kubernetes-map-type"]
  if (mapType !== undefined && !MAP_TYPES.includes(mapType)) {
    causes.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, MAP_TYPES))
  }
  if (listType === undefined) return causes
  if (!LIST_TYPES.includes(listType)) causes.push(notSupported(`${path}.x-kubernetes-list-type`, listType, LIST_TYPES))
  if (schema.type !== "array") {
    causes.push(invalid(`${path}.type`, schema.type ?? "", "must be array if x-kubernetes-list-type is specified"))
  }
  if (listType === "set" && schema.items?.type === "object" && schema.items["x-kubernetes-map-type"] !== "atomic") {
    causes.push(
      invalid(
        `${path}.items.x-kubernetes-map-type`,
        schema.items["x-kubernetes-map-type"] ?? null,
        "must be atomic as item of a list with x-kubernetes-list-type=set"
      )
    )
  }
  return listType === "map" ? [...causes, ...checkMapKeys(schema, path)] : causes
}

const checkMapKeys = (schema: Schema, path: string): ReadonlyArray<Cause> => {
  const keys = schema["x-kubernetes-list-map-keys"] ?? []
  const properties = schema.items?.properties ?? {}
  const at = `${path}.x-kubernetes-list-map-keys`
  if (keys.length === 0) return [required(at, "must not be empty if x-kubernetes-list-type is map")]
  if (keys.some((key) => !Object.hasOwn(properties, key))) {
    return [invalid(at, keys, "entries must all be names of item properties")]
  }
  return keys
    .filter((key) => properties[key]?.default === undefined && schema.items?.required?.includes(key) !== true)
    .map((key) =>
      required(
        `${path}.items.properties[${key}].default`,
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
      )
    )
}

const checkDefault = (schema: Schema, path: string): ReadonlyArray<Cause> => {
  const value = schema.default
  if (value === undefined || value === null) return []
  const at = `${path}.default`
  if (pruneInPlace(clone(value), schema).length > 0) return [invalid(at, value, "must not have unknown fields")]
  // The real server validates a default as a document of its own, hence the paths without a beginning.
  return validateSchema(value, schema, "", undefined).map((cause) => ({
    ...cause,
    field: cause.field === "<nil>" ? cause.field : cause.field === "" ? at : `${at}.${cause.field}`
  }))
}
