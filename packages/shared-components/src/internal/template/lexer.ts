/** Cuts a template into tokens as Go's text/template does, with one extension: a field name may hold hyphens. */
import { syntax } from "./failure.ts"

export type TokenType =
  | "Text"
  | "Left"
  | "Right"
  | "Space"
  | "Assign"
  | "Declare"
  | "Pipe"
  | "Comma"
  | "LeftParen"
  | "RightParen"
  | "String"
  | "RawString"
  | "Char"
  | "Number"
  | "Dot"
  | "Field"
  | "Variable"
  | "Bool"
  | "Nil"
  | "Keyword"
  | "Identifier"
  | "End"

export interface Token {
  readonly type: TokenType
  readonly text: string
  readonly offset: number
}

const keywords: ReadonlySet<string> = new Set([
  "block",
  "break",
  "continue",
  "define",
  "else",
  "end",
  "if",
  "range",
  "template",
  "with"
])
// Every pattern is sticky and consumes a character at each step, so that no input makes one slow.
const space = /[ \t\r\n]+/uy
const word = /[\p{L}\p{Nd}_]+/uy
const fieldName = /[\p{L}\p{Nd}_]+(?:-+[\p{L}\p{Nd}_]+)*/uy
const number =
  /[+-]?(?:0[xX][0-9A-Fa-f_]*(?:\.[0-9A-Fa-f_]*)?(?:[pP][+-]?[0-9_]*)?|(?:0[oObB])?[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?/uy
const string = /"(?:[^"\\\n]|\\[^\n])*"/uy
const rawString = /`[^`]*`/uy
const char = /'(?:[^'\\\n]|\\[^\n])*'/uy
const terminator = /[ \t\r\n.,|:)(]|\}\}|$/uy
const trimmedLeft = /-[ \t\r\n]/uy
const trimmedRight = /[ \t\r\n]-\}\}/uy
const edges: ReadonlyMap<string, TokenType> = new Map([
  ["=", "Assign"],
  ["|", "Pipe"],
  [",", "Comma"]
])

/** A cursor over the text. */
class Lexer {
  readonly text: string
  readonly tokens: Array<Token> = []
  at = 0
  depth = 0

  constructor(text: string) {
    this.text = text
  }

  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    return pattern.exec(this.text)?.[0]
  }

  take(type: TokenType, text: string): void {
    this.tokens.push({ type, text, offset: this.at })
    this.at += text.length
  }

  /** Takes what the pattern finds, or fails with `problem`. */
  demand(type: TokenType, pattern: RegExp, problem: string): void {
    const found = this.match(pattern)
    if (found === undefined) return syntax(this.at, problem)
    this.take(type, found)
  }

  /** After a word only certain characters may follow, so that `$x+2` is not mistaken for three tokens. */
  terminated(): void {
    if (this.match(terminator) === undefined) syntax(this.at, `unexpected ${printable(this.text, this.at)}`)
  }

  skipSpaces(): void {
    this.at += this.match(space)?.length ?? 0
  }
}

const printable = (text: string, at: number): string => {
  const code = text.codePointAt(at) ?? 0
  return code > 32 && code < 127
    ? `"${String.fromCodePoint(code)}"`
    : `character U+${code.toString(16).toUpperCase().padStart(4, "0")}`
}

const trimEnd = (text: string): string => {
  let end = text.length
  while (end > 0 && " \t\r\n".includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/** Goes past a closing `}}` or ` -}}`, when one is here. */
const right = (lexer: Lexer): boolean => {
  const trimmed = lexer.match(trimmedRight) !== undefined
  if (!trimmed && !lexer.text.startsWith("}}", lexer.at)) return false
  if (trimmed) lexer.at += 2
  lexer.take("Right", "}}")
  if (trimmed) lexer.skipSpaces()
  return true
}

const comment = (lexer: Lexer, opened: number): void => {
  const close = lexer.text.indexOf("*/", lexer.at + 2)
  if (close < 0) return syntax(opened, "a comment is not closed")
  lexer.at = close + 2
  if (!right(lexer)) return syntax(lexer.at, "after a comment the action must end")
  lexer.tokens.pop()
}

/** `.name`, `.` alone, `$name` or `$` alone. */
const fieldOrVariable = (lexer: Lexer, alone: TokenType, named: TokenType, name: RegExp): void => {
  const start = lexer.at
  lexer.at += 1
  const found = lexer.match(name) ?? ""
  lexer.at = start
  lexer.take(found === "" ? alone : named, lexer.text.slice(start, start + 1 + found.length))
  lexer.terminated()
}

const identifier = (lexer: Lexer, found: string): void => {
  const type: TokenType =
    found === "true" || found === "false"
      ? "Bool"
      : found === "nil"
        ? "Nil"
        : keywords.has(found)
          ? "Keyword"
          : "Identifier"
  lexer.take(type, found)
  lexer.terminated()
}

const numberToken = (lexer: Lexer): void => {
  lexer.demand("Number", number, "not a number")
  if (lexer.match(/[\p{L}\p{Nd}_+-]/uy) !== undefined) syntax(lexer.at, "a number is followed by something else")
}

const paren = (lexer: Lexer, letter: string): void => {
  lexer.depth += letter === "(" ? 1 : -1
  if (lexer.depth < 0) syntax(lexer.at, "unexpected )")
  lexer.take(letter === "(" ? "LeftParen" : "RightParen", letter)
}

const token = (lexer: Lexer): void => {
  const { at, text } = lexer
  const letter = text[at] ?? ""
  const spaces = lexer.match(space)
  if (spaces !== undefined) {
    // The last space belongs to the trim marker of ` -}}`.
    return lexer.take("Space", text.startsWith("-}}", at + spaces.length) ? spaces.slice(0, -1) : spaces)
  }
  const edge = edges.get(letter)
  if (edge !== undefined) return lexer.take(edge, letter)
  if (letter === ":") return lexer.demand("Declare", /:=/uy, "expected :=")
  if (letter === '"') return lexer.demand("String", string, "a string is not closed on its line")
  if (letter === "`") return lexer.demand("RawString", rawString, "a raw string is not closed")
  if (letter === "'") return lexer.demand("Char", char, "a character constant is not closed")
  if (letter === "$") return fieldOrVariable(lexer, "Variable", "Variable", word)
  if (letter === "." && !/[0-9]/u.test(text[at + 1] ?? "")) return fieldOrVariable(lexer, "Dot", "Field", fieldName)
  if (/[0-9.+-]/u.test(letter)) return numberToken(lexer)
  if (letter === "(" || letter === ")") return paren(lexer, letter)
  const found = lexer.match(word)
  return found === undefined ? syntax(at, `unexpected ${printable(text, at)}`) : identifier(lexer, found)
}

const action = (lexer: Lexer): void => {
  const opened = lexer.at
  lexer.take("Left", "{{")
  if (lexer.match(trimmedLeft) !== undefined) lexer.at += 1
  const body = lexer.at + (lexer.at > opened + 2 ? 1 : 0)
  if (lexer.text.startsWith("/*", body)) {
    lexer.tokens.pop()
    lexer.at = body
    return comment(lexer, opened)
  }
  lexer.depth = 0
  for (;;) {
    if (lexer.at >= lexer.text.length) return syntax(opened, "an action is not closed")
    const closing = lexer.match(trimmedRight) !== undefined || lexer.text.startsWith("}}", lexer.at)
    if (closing && lexer.depth > 0) return syntax(lexer.at, "expected )")
    if (closing) return void right(lexer)
    token(lexer)
  }
}

/** The tokens of a template; the last is `End`. */
export const tokens = (text: string): ReadonlyArray<Token> => {
  const lexer = new Lexer(text)
  while (lexer.at < text.length) {
    const open = text.indexOf("{{", lexer.at)
    const end = open < 0 ? text.length : open
    const literal = text.slice(lexer.at, end)
    lexer.at = end
    const trims = open >= 0 && /-[ \t\r\n]/u.test(text.slice(open + 2, open + 4))
    const kept = trims ? trimEnd(literal) : literal
    if (kept !== "") lexer.tokens.push({ type: "Text", text: kept, offset: end - literal.length })
    if (open >= 0) action(lexer)
  }
  lexer.tokens.push({ type: "End", text: "", offset: text.length })
  return lexer.tokens
}
