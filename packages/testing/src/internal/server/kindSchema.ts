/**
 * What the schema and the rules of a kind say about an object, for custom and built-in kinds alike.
 */
import {
  blankBuiltin,
  builtinSchema,
  decodeBuiltin,
  metadataRules,
  prepareBuiltin,
  validateBuiltin
} from "../engines/builtins.ts"
import { wrongQuantity } from "../engines/builtinQuantities.ts"
import { unknownOf } from "../engines/builtinUnknown.ts"
import { wrongTime } from "../engines/builtinTimes.ts"
import { finalizerWarnings, validateMetadata, validateMetadataChange } from "../engines/metadataValidation.ts"
import { OBJECT_META } from "../engines/objectMeta.ts"
import type { Schema } from "../engines/schema.ts"
import { typeFault } from "../engines/typeFaults.ts"
import type { Cause } from "./apiError.ts"
import { fields, type Fields, type Obj } from "./json.ts"
import { metaFields } from "./metaFields.ts"
import type { Resource } from "./resource.ts"

const nameOf = ({ group, kind }: Resource): string => (group === "" ? kind : `${kind}.${group}`)

/** With list types and merge keys; `{}` where nothing is known. @internal */
export const schemaOf = (resource: Resource): Schema =>
  resource.custom === undefined ? builtinSchema(nameOf(resource)) : resource.custom.openAPIV3Schema

/**
 * The object without what its schema does not know, and with its defaults. Nulls that are not allowed go, unless they are kept to
 * be refused. @internal
 */
export const completed = (resource: Resource, object: Obj, keepNulls: boolean): Obj =>
  resource.custom === undefined
    ? (decodeBuiltin(nameOf(resource), object) as unknown as Obj)
    : resource.custom.defaults(resource.custom.prune(object), keepNulls)

/** The object with what the server adds after it has noted who manages what. @internal */
export const settled = (resource: Resource, object: Obj): Obj =>
  resource.custom === undefined ? (prepareBuiltin(nameOf(resource), object) as unknown as Obj) : object

/** What an object of the kind has before anything is set; undefined for a custom kind. @internal */
export const blankOf = (resource: Resource): Fields | undefined =>
  resource.custom === undefined ? blankBuiltin(nameOf(resource)) : undefined

/** What a create or an update is refused for; both objects in the form of the version that was written. @internal */
export const objectCauses = (
  resource: Resource,
  object: Obj,
  old: Obj | undefined,
  warnings: Array<string>
): ReadonlyArray<Cause> => {
  const tolerated = ({ field, message }: Cause) => void warnings.push(`${field}: ${message}`)
  const { custom } = resource
  const rules = custom === undefined ? metadataRules(nameOf(resource)) : {}
  // The real server checks the metadata of an update twice, and tells twice what it found; of a custom kind, only what may not change.
  const metadata = old === undefined ? [] : validateMetadata(object, rules, old)
  if (custom === undefined) return [...metadata, ...validateBuiltin(nameOf(resource), object, old)]
  const again = old === undefined ? validateMetadata(object) : validateMetadataChange(object, old)
  const found = [...metadata, ...again, ...custom.validate(object, old, tolerated)]
  if (found.length === 0) warnings.push(...finalizerWarnings(object, old))
  return found
}

/** What the schema of a custom kind refuses. @internal */
export const schemaCauses = ({ custom }: Resource, object: Obj): ReadonlyArray<Cause> =>
  custom === undefined ? [] : custom.validate(object, undefined)

const quantityForm = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/** What is of another type than the fields of a built-in kind; undefined where nothing is. @internal */
export const typeFaultOf = (resource: Resource, { metadata, ...object }: Fields): string | undefined => {
  const ofMeta = typeFault(OBJECT_META, metadata, "metadata")
  if (ofMeta !== undefined || resource.custom !== undefined) return ofMeta
  const kind = nameOf(resource)
  const time = wrongTime(kind, object)
  return (
    typeFault(builtinSchema(kind), object) ??
    (wrongQuantity(kind, object) === undefined ? undefined : quantityForm) ??
    (time === undefined ? undefined : `parsing time ${JSON.stringify(time)} as "2006-01-02T15:04:05.000000Z07:00"`)
  )
}

/** The paths of fields that the schema does not know: of a built-in kind as they come, of a custom one in order. @internal */
export const unknownFields = (resource: Resource, object: Fields): ReadonlyArray<string> => {
  const { custom } = resource
  const meta = Object.keys(fields(object["metadata"]))
    .filter((name) => !metaFields.has(name) && name !== "selfLink")
    .map((name) => `metadata.${name}`)
  return custom === undefined
    ? [...meta, ...unknownOf(nameOf(resource), object)]
    : [...meta, ...custom.unknown(object)].toSorted()
}
