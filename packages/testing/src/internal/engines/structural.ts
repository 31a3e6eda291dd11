/**
 * A compiled structural schema: all that the API server does with the schema of a custom resource.
 *
 * **Guarantees**
 * - T3: pruning, defaulting and validation are those of a real server, with its causes.
 *
 * **Caveats**
 * - Estimated costs of CEL rules are not limited.
 *
 * @since 0.1.0
 */
import { type Cause, invalid, NO_FIELD } from "./causes.ts"
import { celRules } from "./celRules.ts"
import { clone } from "./json.ts"
import { validateListTypes } from "./listTypes.ts"
import { defaultInPlace, dropNullsInPlace, pruneInPlace } from "./prune.ts"
import type { Schema } from "./schema.ts"
import { validateSchema } from "./schemaValidate.ts"

/** A schema, ready to be asked. No function changes its argument. */
export interface Compiled {
  readonly schema: Schema
  /** The object without the fields that the schema does not know. */
  readonly prune: <A>(object: A) => A
  /** The paths of the fields that `prune` would remove. */
  readonly unknownFields: (object: unknown) => ReadonlyArray<string>
  /**
   * The object with its defaults, and without nulls that the schema does not allow. A server-side apply keeps those
   * nulls (`keepNulls`), so that they fail validation.
   */
  readonly defaults: <A>(object: A, options?: { readonly keepNulls?: boolean }) => A
  /**
   * What is wrong with the object; `old` is the stored object of an update. What was wrong before, and is not touched, is only
   * `tolerated`, as far as rules say so.
   */
  readonly validate: (
    object: unknown,
    options?: { readonly old?: unknown; readonly tolerated?: ((cause: Cause) => void) | undefined }
  ) => ReadonlyArray<Cause>
}

/** Causes after which rules are not run: they could not trust the types. */
const BLOCKING = new Set<string>([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid"
])

const NOT_CHECKED = invalid(
  NO_FIELD,
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)

/** Compiles the `openAPIV3Schema` of one version of a CustomResourceDefinition. */
export const compile = (openAPIV3Schema: Schema): Compiled => {
  const schema = withResourceFields(openAPIV3Schema)
  const rules = celRules(schema)
  const prune = <A>(object: A): A => {
    const result = clone(object)
    pruneInPlace(result, schema)
    return result
  }
  return {
    schema,
    prune,
    unknownFields: (object) => pruneInPlace(clone(object), schema),
    defaults: (object, options) => {
      const result = clone(object)
      defaultInPlace(result, schema)
      if (options?.keepNulls !== true) dropNullsInPlace(result, schema)
      return result
    },
    validate: (object, options) => {
      const old = options?.old === undefined ? undefined : { value: options.old }
      const causes = [...validateSchema(object, schema, "", old), ...validateListTypes(object, schema, "")]
      if (rules === undefined) return causes
      return causes.some((cause) => BLOCKING.has(cause.reason))
        ? [...causes, NOT_CHECKED]
        : [...causes, ...rules.validate(object, old, options?.tolerated)]
    }
  }
}

/** The fields that every resource has, whatever its schema says of them. */
const withResourceFields = (schema: Schema): Schema => ({
  ...schema,
  type: schema.type ?? "object",
  properties: {
    ...schema.properties,
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { ...schema.properties?.["metadata"], type: "object" }
  }
})
