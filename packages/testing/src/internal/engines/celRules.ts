/**
 * Runs the rules of `x-kubernetes-validations` over an object.
 *
 * **Guarantees**
 * - T3: transition rules run only where the earlier value corresponds; messages, paths and reasons are the real server's.
 *
 * **Caveats**
 * - A rule that does not compile is an error of the schema, reported by `checkCrd`; here it is left out.
 *
 * @since 0.1.0
 */
import { Optional, type ParseResult } from "@marcbachmann/cel-js"
import { type Cause, duplicate, forbidden, invalid, quote, required } from "./causes.ts"
import { toDuration } from "./celEnvironment.ts"
import { evaluationError, parseProgram, usesOldSelf } from "./celProgram.ts"
import { RESOURCE_MEMBERS, toCel } from "./celValues.ts"
import { correlate, type Old, oldItem, oldMember } from "./correlate.ts"
import { equal, isArray, isObject, isString } from "./json.ts"
import { resolveFieldPath } from "./fieldPaths.ts"
import type { Schema, ValidationRule } from "./schema.ts"

/** All rules of a schema. */
export interface CelRules {
  /** What did not change is judged as well, but only `tolerated`. */
  readonly validate: (object: unknown, old: Old, tolerated?: (cause: Cause) => void) => ReadonlyArray<Cause>
}

interface CompiledRule {
  readonly rule: ValidationRule
  readonly program: ParseResult
  readonly message: ParseResult | undefined
  readonly isTransition: boolean
}

/** The rules at one place of a schema, and those below it. */
interface Site {
  readonly schema: Schema
  readonly rules: ReadonlyArray<CompiledRule>
  readonly members: ReadonlyMap<string, Site>
  readonly values: Site | undefined
  readonly items: Site | undefined
}

/** Compiles the rules of a schema; undefined when it has none. */
export const celRules = (schema: Schema): CelRules | undefined => {
  const site = compileSite({ ...schema, properties: { ...schema.properties, ...RESOURCE_MEMBERS } })
  return site === undefined
    ? undefined
    : {
        validate: (object, old, tolerated = () => undefined) => validateSite({ site, old, path: "", tolerated }, object)
      }
}

const compileSite = (schema: Schema): Site | undefined => {
  const rules = (schema["x-kubernetes-validations"] ?? []).flatMap(compileRule)
  const members = new Map<string, Site>()
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    const site = compileSite(member)
    if (site !== undefined) members.set(key, site)
  }
  const items = schema.items === undefined ? undefined : compileSite(schema.items)
  const additional = schema.additionalProperties
  const values = typeof additional === "object" ? compileSite(additional) : undefined
  const isEmpty = rules.length === 0 && members.size === 0 && items === undefined && values === undefined
  return isEmpty ? undefined : { schema, rules, members, values, items }
}

const compileRule = (rule: ValidationRule): ReadonlyArray<CompiledRule> => {
  const program = parseProgram(rule.rule)
  if ("error" in program) return []
  const expression = rule.messageExpression
  const message = expression === undefined || expression === "" ? undefined : parseProgram(expression)
  return [
    {
      rule,
      program: program.run,
      message: message !== undefined && "run" in message ? message.run : undefined,
      isTransition: usesOldSelf(rule.rule)
    }
  ]
}

/** Where a value stands, and what it was before. */
interface Visit {
  readonly site: Site
  readonly old: Old
  readonly path: string
  readonly tolerated: (cause: Cause) => void
}

const validateSite = (visit: Visit, value: unknown): ReadonlyArray<Cause> => {
  if (value === null || value === undefined) return []
  const { old, path, site } = visit
  const own = site.rules.length === 0 ? [] : runRules(visit, value)
  if (isArray(value) && site.items !== undefined) {
    const items = site.items
    const olds = correlate(old, site.schema)
    return [
      ...own,
      ...value.flatMap((item, index) =>
        validateSite({ ...visit, site: items, old: oldItem(olds, item), path: `${path}[${index}]` }, item)
      )
    ]
  }
  if (!isObject(value)) return own
  const below = Object.keys(value).flatMap((key) => {
    const member = site.members.get(key)
    const before = oldMember(old, key)
    if (member !== undefined)
      return validateSite(
        { ...visit, site: member, old: before, path: path === "" ? key : `${path}.${key}` },
        value[key]
      )
    const isNamed = site.schema.properties !== undefined && Object.hasOwn(site.schema.properties, key)
    return site.values === undefined || isNamed
      ? []
      : validateSite({ ...visit, site: site.values, old: before, path: `${path}[${key}]` }, value[key])
  })
  return [...own, ...below]
}

const runRules = ({ old, path, site, tolerated }: Visit, value: unknown): ReadonlyArray<Cause> => {
  const isSame = old !== undefined && equal(old.value, value)
  const self = toCel(value, site.schema, toDuration)
  const oldSelf = old === undefined || old.value === null ? undefined : toCel(old.value, site.schema, toDuration)
  return site.rules.flatMap((compiled) => {
    const optional = compiled.rule.optionalOldSelf === true
    if (compiled.isTransition && oldSelf === undefined && !optional) return []
    const context = {
      self,
      oldSelf: optional ? (oldSelf === undefined ? Optional.none() : Optional.of(oldSelf)) : oldSelf
    }
    const causes = runRule(compiled, context, site, value, path)
    // An unchanged value is refused by none of the rules that look only at it.
    if (!isSame || compiled.isTransition) return causes
    causes.forEach(tolerated)
    return []
  })
}

const runRule = (
  compiled: CompiledRule,
  context: { readonly self: unknown; readonly oldSelf: unknown },
  site: Site,
  value: unknown,
  path: string
): ReadonlyArray<Cause> => {
  const field = path === "" ? "<nil>" : path
  try {
    if (compiled.program(context) === true) return []
  } catch (error) {
    const shown = isObject(value) || isArray(value) ? (site.schema.type ?? "object") : value
    const named = (compiled.rule.message ?? "").trim() || compiled.rule.rule.trim()
    const why = `${evaluationError(error)} evaluating rule: ${named}`
    return [invalid(field, shown, why)]
  }
  return [refuse(compiled, messageOf(compiled, context), site, value, path)]
}

const messageOf = (compiled: CompiledRule, context: object): string => {
  if (compiled.message !== undefined) {
    try {
      const message: unknown = compiled.message(context)
      if (isString(message) && message.trim() !== "" && !message.includes("\n")) return message.trim()
    } catch {
      // As on a real server: the plain message stands in for one that cannot be computed.
    }
  }
  const plain = (compiled.rule.message ?? "").trim()
  return plain === "" ? `failed rule: ${compiled.rule.rule.trim()}` : plain
}

const refuse = ({ rule }: CompiledRule, why: string, site: Site, value: unknown, path: string): Cause => {
  const below = rule.fieldPath === undefined ? undefined : resolveFieldPath(rule.fieldPath, site.schema)
  const at = below === undefined ? path : path === "" ? below.replace(/^\./u, "") : `${path}${below}`
  const field = at === "" ? "<nil>" : at
  switch (rule.reason ?? "") {
    case "FieldValueForbidden":
      return forbidden(field, why)
    case "FieldValueRequired":
      return required(field, why)
    case "FieldValueDuplicate":
      return duplicate(field, value)
    default: {
      const isScalar = !isObject(value) && !isArray(value)
      const shown = isScalar ? `${quote(value)}: ` : ""
      return { field, reason: "FieldValueInvalid", message: `Invalid value: ${shown}${why}` }
    }
  }
}
