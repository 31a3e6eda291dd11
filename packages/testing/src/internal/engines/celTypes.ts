/**
 * Declares the types of a schema in a CEL environment, so that rules can be checked against them.
 *
 * @since 0.1.0
 */
import type { Environment } from "@marcbachmann/cel-js"
import { escapeName, isMap, readableMembers } from "./celValues.ts"
import { isIntOrString, type Schema, valueSchema } from "./schema.ts"

const SCALARS: { readonly [type: string]: string } = {
  integer: "int",
  number: "double",
  boolean: "bool",
  string: "string"
}

const TEXTS: { readonly [format: string]: string } = {
  "date-time": "google.protobuf.Timestamp",
  date: "google.protobuf.Timestamp",
  duration: "google.protobuf.Duration",
  byte: "bytes"
}

/** The name of the schema's type; its object types are registered on the way. */
export const declareType = (environment: Environment, schema: Schema, name: string): string => {
  if (isIntOrString(schema) || schema.type === undefined) return "dyn"
  if (schema.type === "array") return `list<${declareType(environment, schema.items ?? {}, `${name}.item`)}>`
  if (schema.type !== "object") {
    return (schema.type === "string" ? TEXTS[schema.format ?? ""] : undefined) ?? SCALARS[schema.type] ?? "dyn"
  }
  if (isMap(schema)) {
    return `map<string, ${declareType(environment, valueSchema(schema) ?? {}, `${name}.value`)}>`
  }
  const fields: { [field: string]: string } = {}
  for (const [key, member] of Object.entries(readableMembers(schema))) {
    const escaped = escapeName(key)
    if (escaped !== undefined) fields[escaped] = declareType(environment, member, `${name}.${escaped}`)
  }
  environment.registerType(name, { fields })
  environment.registerOperator(`${name} == ${name}`, () => true)
  return name
}
