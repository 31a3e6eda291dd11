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

export interface LineColumn {
  readonly line: number
  readonly column: number
}

/**
 * Finds one-based lines and columns; the column counts characters, so that an editor finds it. Offsets that ascend are found in one
 * walk over the text.
 */
export const locator = (text: string): ((offset: number) => LineColumn) => {
  let [at, line, column] = [0, 1, 1]
  return (offset) => {
    if (offset < at) [at, line, column] = [0, 1, 1]
    while (at < offset) {
      const code = text.codePointAt(at) ?? 0
      if (code === 10) [line, column] = [line + 1, 1]
      else column++
      at += code > 0xffff ? 2 : 1
    }
    return { line, column }
  }
}
