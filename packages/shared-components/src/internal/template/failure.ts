/** How the parts of the template engine give up: with a place in the text, turned into a public error at the module's edge. */
import { Data } from "effect"

/** What went wrong, without the place. Texts name paths, functions and types as the template writes them, never a value. */
export type Fault =
  | { readonly kind: "Syntax"; readonly problem: string }
  | { readonly kind: "UnknownFunction"; readonly name: string }
  | { readonly kind: "UnknownVariable"; readonly name: string }
  | { readonly kind: "MissingKey"; readonly path: string }
  | { readonly kind: "BadValue"; readonly problem: string }
  | { readonly kind: "LimitExceeded"; readonly what: string; readonly limit: number }

/** Thrown inside the engine only. */
export class Failure extends Data.TaggedError("Failure")<{ readonly fault: Fault; readonly offset: number }> {}

export const fail = (offset: number, fault: Fault): never => {
  throw new Failure({ fault, offset })
}

export const syntax = (offset: number, problem: string): never => fail(offset, { kind: "Syntax", problem })

/** One-based line and column of an offset; the column counts characters, so that an editor finds it. */
export const place = (text: string, offset: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf("\n") + 1
  let line = 1
  for (let at = before.indexOf("\n"); at >= 0; at = before.indexOf("\n", at + 1)) line++
  return { line, column: Array.from(before.slice(lineStart)).length + 1 }
}
