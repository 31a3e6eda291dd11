/**
 * The generator says of every object that it has no other fields. That holds for requests, of which others are refused. Answers may get
 * fields one day that a client of today does not know.
 */

const isRecord = (node: unknown): node is Readonly<Record<string, unknown>> =>
  typeof node === "object" && node !== null && !Array.isArray(node)

const opened = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(opened)
  if (!isRecord(node)) return node
  const fields = Object.entries(node).filter(([key, value]) => key !== "additionalProperties" || value !== false)
  return Object.fromEntries(fields.map(([key, value]) => [key, opened(value)]))
}

/** Opens all schemas of the document but those of requests. */
export const openAnswers = (
  document: Readonly<Record<string, unknown>>,
  requests: ReadonlyArray<string>
): Record<string, unknown> => {
  const { components } = document
  const schemas = isRecord(components) && isRecord(components["schemas"]) ? components["schemas"] : {}
  const some = Object.entries(schemas).map(([name, schema]) => [
    name,
    requests.includes(name) ? schema : opened(schema)
  ])
  return { ...document, components: { ...Object(components), schemas: Object.fromEntries(some) } }
}
