/**
 * The `fieldPath` of a validation rule: `.spec.a`, `['key']`, relative to where the rule stands.
 *
 * @since 0.1.0
 */
import { memberSchema, type Schema } from "./schema.ts"

const STEP = /^(?:\.([A-Za-z_][\w-]*)|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\])/u

/** The path as causes print it; undefined when it is malformed or names nothing. */
export const resolveFieldPath = (path: string, schema: Schema): string | undefined => {
  let rest = path.trim()
  let printed = ""
  let at: Schema | undefined = schema
  if (rest === "") return undefined
  while (rest !== "") {
    const match = STEP.exec(rest)
    if (match === null) return undefined
    const name: string = match[1] ?? match[2] ?? match[3] ?? ""
    const isNamed: boolean = at?.properties !== undefined && Object.hasOwn(at.properties, name)
    at = memberSchema(at, name)
    if (at === undefined) return undefined
    printed += isNamed ? `.${name}` : `[${name}]`
    rest = rest.slice(match[0].length)
  }
  return printed
}
