/**
 * The shape of an OpenAPI v3 schema in a CustomResourceDefinition.
 *
 * @since 0.1.0
 */

/** One rule of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}

/** A structural schema, or one of its value validations. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly default?: unknown
  readonly nullable?: boolean
  readonly enum?: ReadonlyArray<unknown>
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly required?: ReadonlyArray<string>
  readonly properties?: { readonly [name: string]: Schema }
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly allOf?: ReadonlyArray<Schema>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly not?: Schema
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean
  readonly "x-kubernetes-embedded-resource"?: boolean
  readonly "x-kubernetes-int-or-string"?: boolean
  readonly "x-kubernetes-list-type"?: string
  readonly "x-kubernetes-list-map-keys"?: ReadonlyArray<string>
  readonly "x-kubernetes-map-type"?: string
  readonly "x-kubernetes-validations"?: ReadonlyArray<ValidationRule>
  /** A struct of a built-in kind: fields that are not listed are fields all the same, and structs are open in turn. */
  readonly "x-open-struct"?: boolean
  /** Strategic merge: the key that identifies an item of a list. */
  readonly "x-kubernetes-patch-merge-key"?: string
  /** Strategic merge: `merge`, `retainKeys`, `replace` or a comma-separated mix. */
  readonly "x-kubernetes-patch-strategy"?: string
}

const NONE: Schema = {}

/** A struct of which no field is known. */
const OPEN: Schema = { "x-open-struct": true }

export const isPreserving = (schema: Schema): boolean => schema["x-kubernetes-preserve-unknown-fields"] === true

export const isEmbedded = (schema: Schema): boolean => schema["x-kubernetes-embedded-resource"] === true

export const isIntOrString = (schema: Schema): boolean => schema["x-kubernetes-int-or-string"] === true

/** The schema of an object's member, or undefined when the schema does not name it. */
export const memberSchema = (schema: Schema | undefined, key: string): Schema | undefined => {
  if (schema === undefined) return undefined
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, key)) return schema.properties[key]
  return schema["x-open-struct"] === true ? OPEN : valueSchema(schema)
}

/** The schema of the values of a map. */
export const valueSchema = (schema: Schema): Schema | undefined => {
  const values = schema.additionalProperties
  if (values === undefined || values === false) return undefined
  return values === true ? NONE : values
}

/** The schema of a list's items. */
export const itemSchema = (schema: Schema | undefined): Schema | undefined => schema?.items
