/**
 * Compiles one rule of `x-kubernetes-validations`.
 *
 * @since 0.1.0
 */
import { EvaluationError, type ParseResult, ParseError, TypeError as CelTypeError } from "@marcbachmann/cel-js"
import { checking, rewriteToCheck, rewriteToRun, running } from "./celEnvironment.ts"
import { declareType } from "./celTypes.ts"
import type { Schema } from "./schema.ts"

/** Why an expression does not compile, in the words of cel-go. */
export interface Wrong {
  readonly error: string
}

export type Program = { readonly run: ParseResult } | Wrong

/** Whether a rule speaks of the value before the update. */
export const usesOldSelf = (expression: string): boolean => /\boldSelf\b/u.test(expression)

/** Parses an expression to run it. */
export const parseProgram = (expression: string): Program => {
  try {
    return { run: running.parse(rewriteToRun(expression)) }
  } catch (error) {
    return { error: compileError(error, expression) }
  }
}

/** The type of each expression on a value of this schema, or why it does not compile. */
export const makeChecker = (schema: Schema) => {
  const plain = checking.clone()
  const type = declareType(plain, schema, "Object.self")
  plain.registerVariable("self", type)
  const optional = plain.clone().registerVariable("oldSelf", `optional<${type}>`)
  const transition = plain.clone().registerVariable("oldSelf", type)

  return (expression: string, optionalOldSelf: boolean): { readonly type: string } | Wrong => {
    try {
      const result = (optionalOldSelf ? optional : transition).check(rewriteToCheck(expression))
      if (result.valid) return { type: result.type ?? "dyn" }
      return { error: compileError(result.error, expression) }
    } catch (error) {
      return { error: compileError(error, expression) }
    }
  }
}

const compileError = (error: unknown, expression: string): string => {
  const known = error instanceof ParseError || error instanceof CelTypeError || error instanceof EvaluationError
  const start = known ? Math.min(error.range?.start ?? 0, Math.max(expression.length - 1, 0)) : 0
  const why = known ? inGoWords(error.summary) : String(error)
  return `compilation failed: ERROR: <input>:1:${start + 1}: ${why}\n | ${expression}\n | ${".".repeat(start)}^`
}

const inGoWords = (summary: string): string =>
  summary
    .replace(/^No such key: (.*)$/u, "undefined field '$1'")
    .replace(/^Unknown variable: (.*)$/u, "undeclared reference to '$1' (in container '')")
    .replace(/^no such overload: (.+) (\S+) (.+)$/u, "found no matching overload for '_$2_' applied to '($1, $3)'")

/** What went wrong while a rule ran. */
export const evaluationError = (error: unknown): string => {
  if (error instanceof EvaluationError || error instanceof CelTypeError) {
    return error.summary.replace(/^No such key: /u, "no such key: ")
  }
  return error instanceof Error ? error.message : String(error)
}
