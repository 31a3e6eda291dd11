/**
 * Parses and applies label and field selectors.
 *
 * **Guarantees**
 * - T3: equality and set based label selectors, and field selectors with `=`, `==` and `!=`, mean what they mean to a real server.
 *
 * @since 0.1.0
 */
import { validateLabelKey, validateLabelValue } from "./names.ts"
import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from "./json.ts"

/** One condition of a label selector. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: "in" | "notin" | "exists" | "!" | "gt" | "lt"
  readonly values: ReadonlyArray<string>
}

export type LabelSelector = ReadonlyArray<LabelRequirement>

/** One condition of a field selector. */
export interface FieldRequirement {
  readonly field: string
  readonly equals: boolean
  readonly value: string
}

export type FieldSelector = ReadonlyArray<FieldRequirement>

/** The parsed selector, or why it cannot be parsed. */
export type Parsed<A> = { readonly ok: A } | { readonly error: string }

/** Parses the value of the query parameter `labelSelector`. */
export const parseLabelSelector = (text: string): Parsed<LabelSelector> => {
  const tokens = tokenize(text)
  const requirements: Array<LabelRequirement> = []
  let position = 0
  while (position < tokens.length) {
    const first = tokens[position]
    if (first !== "!" && isSymbol(first)) {
      const expected = requirements.length === 0 ? "!, identifier, or 'end of string'" : "identifier after ','"
      return { error: `found '${first}', expected: ${expected}` }
    }
    const parsed = parseRequirement(tokens, position)
    if ("error" in parsed) return { error: `unable to parse requirement: ${parsed.error}` }
    requirements.push(parsed.requirement)
    position = parsed.next
    if (position >= tokens.length) break
    if (tokens[position] !== ",") return { error: `found '${tokens[position]}', expected: ',' or 'end of string'` }
    position += 1
    if (position >= tokens.length) return { error: "found '', expected: identifier after ','" }
  }
  return { ok: requirements }
}

const tokenize = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/==|!=|[=!<>(),]|[^\s=!<>(),]+/gu)].map((match) => match[0])

type Step = { readonly requirement: LabelRequirement; readonly next: number } | { readonly error: string }

const isSymbol = (token: string | undefined): boolean => token === undefined || /^(?:[=!<>(),]|==|!=)$/u.test(token)

const checked = (requirement: LabelRequirement, next: number): Step => {
  const wrongKey = validateLabelKey(requirement.key)
  if (wrongKey.length > 0)
    return { error: `<nil>: Invalid value: ${JSON.stringify(requirement.key)}: ${wrongKey.join("; ")}` }
  for (const [index, value] of requirement.values.entries()) {
    const wrong = validateLabelValue(value)
    if (wrong.length > 0) {
      return {
        error: `values[${index}][${requirement.key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join("; ")}`
      }
    }
  }
  return { requirement, next }
}

const parseRequirement = (tokens: ReadonlyArray<string>, start: number): Step => {
  const negated = tokens[start] === "!"
  const at = negated ? start + 1 : start
  const key = tokens[at]
  if (key === undefined || isSymbol(key)) return { error: `found '${key ?? ""}', expected: identifier` }
  const operator = tokens[at + 1]
  if (negated) return checked({ key, operator: "!", values: [] }, at + 1)
  if (operator === undefined || operator === ",") return checked({ key, operator: "exists", values: [] }, at + 1)
  if (operator === "in" || operator === "notin") return parseSet(tokens, at + 2, key, operator)
  if (operator === "=" || operator === "==" || operator === "!=" || operator === "<" || operator === ">") {
    return parseExact(tokens, at + 2, key, operator)
  }
  return { error: `found '${operator}', expected: in, notin, =, ==, !=, gt, lt` }
}

const parseExact = (tokens: ReadonlyArray<string>, at: number, key: string, operator: string): Step => {
  const token = tokens[at]
  const isEmpty = token === undefined || token === ","
  if (!isEmpty && isSymbol(token)) return { error: `found '${token}', expected: identifier` }
  const value = isEmpty ? "" : token
  const next = isEmpty ? at : at + 1
  if (operator === "<" || operator === ">") {
    if (!/^[-+]?\d+$/u.test(value))
      return {
        error: `values[0]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`
      }
    return checked({ key, operator: operator === "<" ? "lt" : "gt", values: [value] }, next)
  }
  return checked({ key, operator: operator === "!=" ? "notin" : "in", values: [value] }, next)
}

const parseSet = (tokens: ReadonlyArray<string>, at: number, key: string, operator: "in" | "notin"): Step => {
  if (tokens[at] !== "(") return { error: `found '${tokens[at] ?? ""}' expected: '('` }
  const end = tokens.indexOf(")", at)
  if (end < 0) return { error: "found '', expected: ',' or ')'" }
  const values = new Set<string>()
  let pending = true
  for (const token of tokens.slice(at + 1, end)) {
    if (token === ",") {
      if (pending) values.add("")
      pending = true
    } else if (isSymbol(token) || !pending) {
      return { error: `found '${token}', expected: ',', or ')'` }
    } else {
      values.add(token)
      pending = false
    }
  }
  if (pending) values.add("")
  return checked({ key, operator, values: [...values].sort() }, end + 1)
}

/** Whether an object's labels fulfil every condition. */
export const matchLabels = (
  selector: LabelSelector,
  labels: { readonly [key: string]: unknown } | undefined
): boolean => selector.every((requirement) => fulfils(requirement, labels ?? {}))

const fulfils = ({ key, operator, values }: LabelRequirement, labels: { readonly [key: string]: unknown }): boolean => {
  const value = Object.hasOwn(labels, key) ? stringOf(labels[key]) : undefined
  if (operator === "!") return value === undefined
  if (operator === "notin") return value === undefined || !values.includes(value)
  if (value === undefined) return false
  if (operator === "exists") return true
  if (operator === "in") return values.includes(value)
  if (!INTEGER.test(value)) return false
  return operator === "gt" ? Number(value) > Number(values[0]) : Number(value) < Number(values[0])
}

const INTEGER = /^[-+]?\d+$/u

const OPERATORS: { readonly [operator: string]: LabelRequirement["operator"] } = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!"
}

/** The conditions of a `LabelSelector` object (`matchLabels`, `matchExpressions`). */
export const fromSelectorObject = (selector: unknown): LabelSelector => {
  if (!isObject(selector)) return []
  const exact = Object.entries(objectOf(selector["matchLabels"])).map(([key, value]): LabelRequirement => ({
    key,
    operator: "in",
    values: [stringOf(value)]
  }))
  const expressions = arrayOf(selector["matchExpressions"])
    .filter(isObject)
    .map((expression: JsonObject): LabelRequirement => ({
      key: stringOf(expression["key"]),
      operator: OPERATORS[stringOf(expression["operator"])] ?? "exists",
      values: arrayOf(expression["values"]).map(stringOf)
    }))
  return [...exact, ...expressions]
}

/** Parses the value of the query parameter `fieldSelector`; `\\`, `\,` and `\=` are escapes. */
export const parseFieldSelector = (text: string): Parsed<FieldSelector> => {
  const requirements: Array<FieldRequirement> = []
  for (const part of splitTerms(text)) {
    if (part === "") continue
    const match = /^([^=!\\]*)(!=|==|=)(.*)$/su.exec(part)
    if (match === null) return { error: `invalid selector: '${text}'; can't understand '${part}'` }
    const [, field = "", operator, raw = ""] = match
    if (/(^|[^\\])(\\\\)*=/u.test(raw))
      return { error: `invalid field selector: unescaped character in value: ${"=".codePointAt(0)}` }
    const wrongEscape = /^(?:[^\\]|\\[\\,=])*(\\(?:[^\\,=]|$))/su.exec(raw)?.[1]
    if (wrongEscape !== undefined) return { error: `invalid field selector: invalid escape sequence: ${wrongEscape}` }
    requirements.push({ field, equals: operator !== "!=", value: raw.replace(/\\(.)/gsu, "$1") })
  }
  return { ok: requirements }
}

const splitTerms = (text: string): ReadonlyArray<string> => {
  const terms: Array<string> = []
  let term = ""
  let escaped = false
  for (const char of text) {
    if (char === "," && !escaped) {
      terms.push(term)
      term = ""
    } else {
      term += char
    }
    escaped = char === "\\" && !escaped
  }
  return [...terms, term]
}

/** Whether the fields, as `read` finds them, fulfil every condition. */
export const matchFields = (selector: FieldSelector, read: (field: string) => string): boolean =>
  selector.every(({ field, equals, value }) => (read(field) === value) === equals)
