/**
 * Removes what a schema does not know and fills in what it has defaults for.
 *
 * **Guarantees**
 * - T3: the same fields go and come as on a real server, also inside lists, maps and embedded resources.
 *
 * **Caveats**
 * - `apiVersion`, `kind` and `metadata` of a resource are always kept; the metadata of the whole object is not looked into.
 *
 * @since 0.1.0
 */
import { clone, has, isArray, isObject, type JsonObject, put } from "./json.ts"
import { OBJECT_META } from "./objectMeta.ts"
import { isEmbedded, isPreserving, memberSchema, type Schema, valueSchema } from "./schema.ts"

const RESOURCE_FIELDS = new Set(["apiVersion", "kind", "metadata"])

/** Removes unknown fields in place and returns their paths. */
export const pruneInPlace = (value: unknown, schema: Schema): ReadonlyArray<string> => {
  const unknown: Array<string> = []
  pruneValue(value, schema, true, "", unknown)
  return unknown
}

const pruneValue = (value: unknown, schema: Schema, isResource: boolean, path: string, unknown: Array<string>) => {
  if (isArray(value)) {
    if (schema.items === undefined && isPreserving(schema)) return
    const items = schema.items ?? {}
    value.forEach((item, index) => pruneValue(item, items, isEmbedded(items), `${path}[${index}]`, unknown))
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      if (isResource && key === "metadata" && path !== "") pruneMetadata(value[key], `${path}.metadata`, unknown)
      if (isResource && RESOURCE_FIELDS.has(key)) continue
      pruneMember(value, key, schema, path === "" ? key : `${path}.${key}`, unknown)
    }
  }
}

const METADATA_FIELDS = new Set([...Object.keys(OBJECT_META.properties ?? {}), "selfLink"])

const pruneMetadata = (metadata: unknown, path: string, unknown: Array<string>) => {
  if (!isObject(metadata)) return
  for (const key of Object.keys(metadata)) {
    if (METADATA_FIELDS.has(key)) continue
    delete metadata[key]
    unknown.push(`${path}.${key}`)
  }
}

const pruneMember = (object: JsonObject, key: string, schema: Schema, path: string, unknown: Array<string>) => {
  const known = memberSchema(schema, key)
  if (known !== undefined) {
    pruneValue(object[key], known, isEmbedded(known), path, unknown)
  } else if (!isPreserving(schema)) {
    delete object[key]
    unknown.push(path)
  }
}

/** Fills in defaults in place; a null that its schema does not allow counts as absent. */
export const defaultInPlace = (value: unknown, schema: Schema): void => {
  if (isArray(value)) {
    const items = schema.items
    if (items === undefined) return
    value.forEach((item, index) => {
      if (isForbiddenNull(item, items) && items.default !== undefined) value[index] = clone(items.default)
      defaultInPlace(value[index], items)
    })
  } else if (isObject(value)) {
    defaultObject(value, schema)
  }
}

const defaultObject = (object: JsonObject, schema: Schema) => {
  for (const [key, known] of Object.entries(schema.properties ?? {})) {
    if (known.default === undefined) continue
    if (!has(object, key) || isForbiddenNull(object[key], known)) put(object, key, clone(known.default))
  }
  const values = valueSchema(schema)
  for (const key of Object.keys(object)) {
    const known = memberSchema(schema, key)
    if (known === undefined) continue
    if (known === values && isForbiddenNull(object[key], known) && known.default !== undefined) {
      put(object, key, clone(known.default))
    }
    defaultInPlace(object[key], known)
  }
}

const isForbiddenNull = (value: unknown, schema: Schema): boolean => value === null && schema.nullable !== true

/** Removes nulls that the schema does not allow from objects, in place. Nulls in lists stay, and fail validation. */
export const dropNullsInPlace = (value: unknown, schema: Schema): void => {
  if (isArray(value)) {
    const items = schema.items
    if (items !== undefined) for (const item of value) dropNullsInPlace(item, items)
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      const known = memberSchema(schema, key)
      if (known === undefined) continue
      if (isForbiddenNull(value[key], known)) delete value[key]
      else dropNullsInPlace(value[key], known)
    }
  }
}
