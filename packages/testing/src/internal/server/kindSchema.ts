/**
 * What the schema of a kind says about an object, for custom and built-in kinds alike.
 */
import type { Schema } from "../engines/schema.ts"
import type { Cause } from "./apiError.ts"
import { fields, type Fields, type Obj } from "./json.ts"
import { metaFields } from "./metaFields.ts"
import type { Resource } from "./resource.ts"

/** With list types and merge keys; `{}` where nothing is known. @internal */
export const schemaOf = ({ custom }: Resource): Schema =>
  custom === undefined ? {} : (custom.openAPIV3Schema as Schema)

/** The object without what its schema does not know, and with its defaults. @internal */
export const completed = ({ custom }: Resource, object: Obj): Obj =>
  custom === undefined ? object : custom.defaults(custom.prune(object))

/** @internal */
export const schemaCauses = ({ custom }: Resource, object: Obj, old: Obj | undefined): ReadonlyArray<Cause> =>
  custom === undefined ? [] : custom.validate(object, old)

/** The paths of fields that the schema does not know. @internal */
export const unknownFields = ({ custom }: Resource, object: Fields): ReadonlyArray<string> => {
  const meta = Object.keys(fields(object["metadata"])).filter((name) => !metaFields.has(name) && name !== "selfLink")
  return [...meta.map((name) => `metadata.${name}`), ...(custom === undefined ? [] : custom.unknown(object))].sort()
}
