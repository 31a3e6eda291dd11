/** What is wrong with a request, in words for its author. */
import { Option, SchemaIssue } from "effect"
import type { HttpApiError } from "effect/http-api"
import { Problem } from "../../Problem.ts"

const issues = SchemaIssue.makeFormatterStandardSchemaV1()

const names: ReadonlyMap<string, string> = new Map([
  ["Params", "path"],
  ["Headers", "headers"],
  ["Query", "query"],
  ["Payload", "body"]
])

const segment = (part: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof part === "object" ? part.key : part)

const countMax = 3
const lengthMax = 200

const bounded = (text: string): string => (text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text)

/** None where it is the provider's own answer that does not fit its definition. */
export const invalid = ({ cause, kind }: HttpApiError.HttpApiSchemaError): Option.Option<Problem> => {
  const where = names.get(kind)
  if (where === undefined) return Option.none()
  const found = issues(cause.issue).issues.slice(0, countMax)
  const texts = found.map(({ message, path = [] }) => bounded(`${[where, ...path.map(segment)].join(".")}: ${message}`))
  return Option.some(new Problem({ code: "invalid_request", detail: texts.join("; ") }))
}
