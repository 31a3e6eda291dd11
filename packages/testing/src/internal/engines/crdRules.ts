/**
 * Checks the `x-kubernetes-validations` of a schema before it is accepted.
 *
 * @since 0.1.0
 */
import { type Cause, forbidden, invalid, notSupported, required } from "./causes.ts"
import { makeChecker, usesOldSelf, type Wrong } from "./celProgram.ts"
import { RESOURCE_MEMBERS } from "./celValues.ts"
import { resolveFieldPath } from "./fieldPaths.ts"
import { isObject } from "./json.ts"
import { isIntOrString, type Schema, type ValidationRule } from "./schema.ts"

const REASONS = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]

/** What is wrong with the rules of a version's schema. */
export const checkRules = (schema: Schema, path: string): ReadonlyArray<Cause> =>
  checkSite({ ...schema, properties: { ...schema.properties, ...RESOURCE_MEMBERS } }, path, undefined)

/** `uncorrelated` is the path of the nearest list above whose items have no identity. */
const checkSite = (schema: Schema, path: string, uncorrelated: string | undefined): ReadonlyArray<Cause> => {
  const rules = schema["x-kubernetes-validations"] ?? []
  const own = rules.length === 0 ? [] : checkSiteRules(rules, schema, path, uncorrelated)
  const isCorrelated = schema.type !== "array" || schema["x-kubernetes-list-type"] === "map"
  const below = isCorrelated ? uncorrelated : (uncorrelated ?? path)
  const values = schema.additionalProperties
  return [
    ...own,
    ...Object.entries(schema.properties ?? {}).flatMap(([key, child]) =>
      checkSite(child, `${path}.properties[${key}]`, below)
    ),
    ...(isObject(values) ? checkSite(values, `${path}.additionalProperties`, below) : []),
    ...(schema.items === undefined ? [] : checkSite(schema.items, `${path}.items`, below))
  ]
}

const checkSiteRules = (
  rules: ReadonlyArray<ValidationRule>,
  schema: Schema,
  path: string,
  uncorrelated: string | undefined
): ReadonlyArray<Cause> => {
  const site = `${path}.x-kubernetes-validations`
  if (schema.type === undefined && !isIntOrString(schema))
    return [forbidden(site, "rules are not supported for schemas without a type")]
  const check = makeChecker(schema)
  return rules.flatMap((rule, index) => [
    ...checkTexts(rule, schema, `${site}[${index}]`),
    ...checkExpressions(rule, check, `${site}[${index}]`, uncorrelated)
  ])
}

const checkTexts = (rule: ValidationRule, schema: Schema, at: string): ReadonlyArray<Cause> => {
  const causes: Array<Cause> = []
  const { message } = rule
  if (rule.rule.trim() === "") causes.push(required(`${at}.rule`, "rule is not specified"))
  if (message !== undefined && message !== "" && message.trim() === "") {
    causes.push(invalid(`${at}.message`, message, "must be non-empty if specified"))
  } else if (message !== undefined && message.trim().includes("\n")) {
    causes.push(invalid(`${at}.message`, message, "must not contain line breaks"))
  } else if (rule.rule.trim().includes("\n") && (message ?? "") === "") {
    causes.push(required(`${at}.message`, "message must be specified if rule contains line breaks"))
  }
  if (rule.reason !== undefined && !REASONS.includes(rule.reason)) {
    causes.push(notSupported(`${at}.reason`, rule.reason, REASONS))
  }
  if (rule.fieldPath !== undefined && rule.fieldPath !== "" && resolveFieldPath(rule.fieldPath, schema) === undefined) {
    causes.push(invalid(`${at}.fieldPath`, rule.fieldPath, "must be a valid path"))
  }
  return causes
}

const checkExpressions = (
  rule: ValidationRule,
  check: (expression: string, optionalOldSelf: boolean) => { readonly type: string } | Wrong,
  at: string,
  uncorrelated: string | undefined
): ReadonlyArray<Cause> => {
  if (rule.rule.trim() === "") return []
  const optional = rule.optionalOldSelf === true
  const isTransition = usesOldSelf(rule.rule)
  const causes: Array<Cause> = []
  if (optional && !isTransition) {
    causes.push(invalid(`${at}.optionalOldSelf`, true, "may not be set if oldSelf is not used in rule"))
  }
  const result = check(rule.rule, optional)
  if ("error" in result) {
    causes.push(invalidRule(`${at}.rule`, rule, result.error))
  } else if (result.type !== "bool" && result.type !== "dyn") {
    causes.push(invalidRule(`${at}.rule`, rule, "cel expression must evaluate to a bool"))
  }
  if (isTransition && uncorrelated !== undefined && !optional) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
    causes.push(invalid(`${at}.rule`, rule.rule, why))
  }
  const message = rule.messageExpression
  if (message !== undefined && message.trim() !== "") {
    const typed = check(message, optional)
    if ("error" in typed) causes.push(invalidRule(`${at}.messageExpression`, rule, `messageExpression ${typed.error}`))
    else if (typed.type !== "string" && typed.type !== "dyn") {
      causes.push(invalidRule(`${at}.messageExpression`, rule, "messageExpression must evaluate to a string"))
    }
  }
  return causes
}

/** The real server prints the whole rule as the value, as Go encodes its struct. */
const invalidRule = (field: string, rule: ValidationRule, why: string): Cause => {
  const value = JSON.stringify({
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null
  }).replaceAll(/[<>&]/gu, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${value}: ${why}` }
}
