/** Finds what Effect's JSON Schema leaves out or weakens without a word, and patterns that Go reads otherwise. */
import { Schema } from "effect"
import { isNode, nodes, type Path, refuse } from "./structuralNode.ts"

/** The id of checks that stand beside a keyword or a rule of the CRD which says the same. */
export const saidElsewhere = "@berth/kube/said-elsewhere"

const checkOfString: Readonly<Record<string, (payload: unknown) => string | undefined>> = {
  "effect/schema/isPattern": (payload) =>
    isNode(payload) && payload["flags"] !== "u" ? "a pattern without exactly the flag u is not written" : undefined,
  "effect/schema/isMinLength": (payload) =>
    isNode(payload) && Number(payload["minLength"]) > 1
      ? "isMinLength counts UTF-16 units: use isMinCodePoints"
      : undefined,
  "effect/schema/isMaxLength": () => "isMaxLength counts UTF-16 units: use isMaxCodePoints",
  "effect/schema/isBetweenLength": () => "isBetweenLength counts UTF-16 units: use isBetweenCodePoints"
}

/** Follows the representation down, and calls `visit` with every node and its path. */
const walk = (u: unknown, path: Path, visit: (node: Readonly<Record<string, unknown>>, path: Path) => void): void => {
  if (Array.isArray(u)) return u.forEach((each) => walk(each, path, visit))
  if (!isNode(u)) return
  visit(u, path)
  for (const [key, child] of Object.entries(u)) {
    const below = key === "type" && typeof u["name"] === "string" ? [...path, u["name"]] : path
    if (key !== "annotations") walk(child, below, visit)
  }
}

const anonymous = (node: Readonly<Record<string, unknown>>, path: Path): void => {
  if (node["_tag"] === "Filter" && node["representation"] === undefined) {
    refuse(path, "a filter that the CRD cannot say: use Kind.rule")
  }
}

const decodedSide = (node: Readonly<Record<string, unknown>>, path: Path): void => {
  anonymous(node, path)
  const isTransformed = node["_tag"] === "Declaration" && !isClass(node)
  const unsaid = nodes(node["checks"]).filter(
    ({ representation }) => !isNode(representation) || representation["id"] !== saidElsewhere
  )
  if (isTransformed && unsaid.length > 0) refuse(path, "a check behind a transformation: use Kind.rule")
}

/** A class is a declaration over a struct. */
const isClass = (node: Readonly<Record<string, unknown>>) => nodes(node["typeParameters"])[0]?.["_tag"] === "Objects"

const encodedSide = (node: Readonly<Record<string, unknown>>, path: Path): void => {
  anonymous(node, path)
  for (const check of node["_tag"] === "String" ? nodes(node["checks"]) : []) {
    const { id, payload } = isNode(check["representation"]) ? check["representation"] : {}
    const problem = checkOfString[String(id)]?.(payload)
    if (problem !== undefined) refuse(path, problem)
  }
  for (const { parameter } of nodes(node["indexSignatures"])) {
    const plain = isNode(parameter) && parameter["_tag"] === "String" && nodes(parameter["checks"]).length === 0
    if (!plain) refuse(path, "a map whose keys are anything else than strings")
  }
}

/** A filter after a transformation is seen on the decoded side only. */
export const audit = (from: Schema.Constraint, path: Path): void => {
  walk(Schema.toRepresentation(Schema.toCodecJson(Schema.toEncoded(from))), path, encodedSide)
  walk(Schema.toRepresentation(Schema.toType(from)), path, decodedSide)
}

const tokens = /\\[\s\S]|\[\^?\]|\[:|[[\]]|\(\?(?:<[=!]|[^<])|\{\d+(?:,\d*)?\}|\./gu

const ofEscape = (token: string, inClass: boolean): string | undefined => {
  if (/^\\[1-9k]$/u.test(token)) return "a back-reference, which RE2 does not have"
  if (/^\\[sSpP]$/u.test(token)) return `${token}, which RE2 reads otherwise: list the characters`
  if (/^\\[0uc]$/u.test(token)) return `${token}, which RE2 does not have: write the character itself`
  return token === "\\b" && inClass ? "\\b for a backspace, which RE2 does not have" : undefined
}

const ofToken = (token: string, inClass: boolean): string | undefined => {
  if (token.startsWith("\\")) return ofEscape(token, inClass)
  if (token === "[]" || token === "[^]") return inClass ? undefined : "an empty class, which RE2 does not have"
  if (inClass) return token === "[:" ? "[: within a class, which RE2 reads otherwise" : undefined
  if (token === ".") return "a dot, which RE2 lets match other characters: list them, as [^\\n]"
  if (token.startsWith("(?")) return token === "(?:" ? undefined : "a look-around or flag, which RE2 reads otherwise"
  const times = token.match(/\d+/gu) ?? []
  return times.some((each) => Number(each) > 1000) ? "more than 1,000 repetitions, which RE2 refuses" : undefined
}

/** A pattern is run by both engines, Go's RE2 in the API server and JavaScript's here: they must agree. */
export const auditPattern = (pattern: string, path: Path): void => {
  let inClass = false
  for (const [token] of pattern.matchAll(tokens)) {
    const problem = ofToken(token, inClass)
    if (problem !== undefined) refuse(path, `a pattern with ${problem}`)
    if (token === "[" || token === "[:") inClass = true
    if (token === "]" || token.endsWith("^]")) inClass = false
  }
}
