/** Whether an object is in a selection, as far as that can be told from the object alone. */
import type { KubeObject } from "../KubeObject.ts"

type Labels = Readonly<Record<string, string>>
type Requirement = (labels: Labels) => boolean

/** `a=b,c in (d,e)` at its commas, except for those in parentheses. */
const split = (selector: string): ReadonlyArray<string> =>
  selector
    .split(/,(?![^(]*\))/u)
    .map((term) => term.trim())
    .filter((term) => term !== "")

/** Comparisons of numbers are left to the server. */
const set = /^(?<key>[^=!<>\s]+)\s+(?<operator>in|notin)\s*\((?<values>[^)]*)\)$/u
const equality = /^(?<key>[^=!<>\s]+)\s*(?<operator>==|=|!=)\s*(?<value>[^=!\s]*)$/u
const existence = /^(?<not>!?)\s*(?<key>[^=!<>\s]+)$/u

const requirement = (term: string): Requirement | undefined => {
  const among = set.exec(term)?.groups
  if (among !== undefined) {
    const { key = "", operator, values = "" } = among
    const wanted = new Set(values.split(",").map((value) => value.trim()))
    return (labels) => wanted.has(labels[key] ?? "\0") === (operator === "in")
  }
  const equal = equality.exec(term)?.groups
  if (equal !== undefined) {
    const { key = "", operator, value } = equal
    return (labels) => (labels[key] === value) === (operator !== "!=")
  }
  const exists = existence.exec(term)?.groups
  if (exists === undefined) return undefined
  const { key = "", not } = exists
  return (labels) => Object.hasOwn(labels, key) === (not === "")
}

const fields: Readonly<Record<string, (object: KubeObject) => string>> = {
  "metadata.name": (object) => object.metadata.name,
  "metadata.namespace": (object) => object.metadata.namespace ?? ""
}

type Test = (object: KubeObject) => boolean

const labelTest = (term: string): Test | undefined => {
  const requires = requirement(term)
  return requires === undefined ? undefined : (object) => requires(object.metadata.labels ?? {})
}

/** Only the fields that every kind has; each kind has its own beside them, which only the server knows. */
const fieldTest = (term: string): Test | undefined => {
  const { key = "", operator, value } = equality.exec(term)?.groups ?? {}
  const read = fields[key]
  return read === undefined ? undefined : (object) => (read(object) === value) === (operator !== "!=")
}

/** Undefined where the selection asks for something that only the server can tell. */
export const make = (selection: {
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
}): ((object: KubeObject) => boolean | undefined) => {
  const tests = [
    ...split(selection.labelSelector ?? "").map(labelTest),
    ...split(selection.fieldSelector ?? "").map(fieldTest)
  ]
  const known = tests.filter((test) => test !== undefined)
  const complete = known.length === tests.length
  return (object) => (known.some((test) => !test(object)) ? false : complete ? true : undefined)
}
