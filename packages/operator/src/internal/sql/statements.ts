import { Data, Result } from "effect"

/** The text cannot be read as SQL, or asks for a value that was not given. */
export class SqlTextError extends Data.TaggedError("SqlTextError")<{
  readonly line: number
  readonly problem: string
}> {
  override get message() {
    return `line ${this.line}: ${this.problem}`
  }
}

/** One statement with its parameters filled in. */
export interface Statement {
  readonly text: string
  /** Where it starts, counted from 1. */
  readonly line: number
  /** Ended by `\gexec`: each cell of its result is a statement to run. */
  readonly execute: boolean
}

/** How a parameter's value enters the text. */
export interface Escape {
  readonly identifier: (value: string) => string
  readonly literal: (value: string) => string
}

/**
 * Sticky patterns, tried in this order at each position. Whatever is quoted or commented is one token, so that neither a
 * semicolon nor a colon inside it means anything. A character that no pattern takes is passed on as it is.
 * PostgreSQL's manual, "Lexical Structure", has the rules.
 */
const tokens = {
  lineComment: /--[^\n]*/uy,
  escapeString: /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/uy,
  string: /'(?:[^']|'')*'/uy,
  quotedIdentifier: /"(?:[^"]|"")*"/uy,
  // Takes a whole word, so that the `e` of `type'x'` or the `$` of `a$b$` opens nothing.
  word: /[A-Za-z_\u0080-\u{10ffff}][\w$\u0080-\u{10ffff}]*/uy,
  cast: /::/uy,
  literalParameter: /:'(\w+)'/uy,
  identifierParameter: /:"(\w+)"/uy,
  command: /\\(\w+)/uy,
  end: /;/uy
} as const

const dollarTag = /\$(?:[A-Za-z_\u0080-\u{10ffff}][\w\u0080-\u{10ffff}]*)?\$/uy

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Block comments nest. Returns where the comment ends, or undefined when it does not. */
const blockCommentEnd = (text: string, at: number): number | undefined => {
  let depth = 0
  for (let here = at; here < text.length; here++) {
    if (text.startsWith("/*", here)) {
      depth++
      here++
    } else if (text.startsWith("*/", here)) {
      depth--
      here++
      if (depth === 0) return here + 1
    }
  }
  return undefined
}

/** Reads a text from its start to its end, collecting statements. */
class Reader {
  readonly text: string
  readonly values: ReadonlyMap<string, string>
  readonly escape: Escape
  readonly statements: Array<Statement> = []
  at = 0
  line = 1
  pending = ""
  pendingLine = 1
  /** Whether the pending statement has more than blanks and comments. */
  started = false

  constructor(text: string, values: ReadonlyMap<string, string>, escape: Escape) {
    this.text = text
    this.values = values
    this.escape = escape
  }

  read(): ReadonlyArray<Statement> {
    while (this.at < this.text.length) this.step()
    this.finish(false)
    return this.statements
  }

  step() {
    const { at, text } = this
    if (text.startsWith("/*", at)) return this.keep(this.until(blockCommentEnd(text, at), "this comment is not closed"))
    const comment = matchAt(tokens.lineComment, text, at)
    if (comment !== null) return this.keep(comment[0])
    const dollar = matchAt(dollarTag, text, at)
    if (dollar !== null) return this.take(this.dollarQuoted(dollar[0]))
    for (const pattern of [tokens.escapeString, tokens.string, tokens.quotedIdentifier, tokens.word, tokens.cast]) {
      const token = matchAt(pattern, text, at)
      if (token !== null) return this.take(token[0])
    }
    return this.special()
  }

  special() {
    const { at, text } = this
    const literal = matchAt(tokens.literalParameter, text, at)
    if (literal !== null) return this.take(literal[0], this.escape.literal(this.value(literal[1])))
    const identifier = matchAt(tokens.identifierParameter, text, at)
    if (identifier !== null) return this.take(identifier[0], this.escape.identifier(this.value(identifier[1])))
    const command = matchAt(tokens.command, text, at)
    if (command !== null) return this.command(command[0], command[1])
    if (matchAt(tokens.end, text, at) !== null) {
      this.advance(";")
      return this.finish(false)
    }
    const character = text[at] ?? ""
    if (character === "'" || character === '"') throw this.error(`this ${character} is not closed`)
    return /\s/u.test(character) ? this.keep(character) : this.take(character)
  }

  command(whole: string, name: string | undefined) {
    if (name !== "gexec") throw this.error(`${whole} is not supported; of psql's commands only \\gexec is`)
    if (!this.started) throw this.error("\\gexec has no statement before it")
    this.advance(whole)
    this.finish(true)
  }

  dollarQuoted(tag: string): string {
    const close = this.text.indexOf(tag, this.at + tag.length)
    return this.until(close < 0 ? undefined : close + tag.length, `the string that ${tag} opens is not closed`)
  }

  until(end: number | undefined, problem: string): string {
    if (end === undefined) throw this.error(problem)
    return this.text.slice(this.at, end)
  }

  value(name = ""): string {
    const value = this.values.get(name)
    if (value === undefined) throw this.error(`no value for the parameter ${name}: give it by --set or --set-env`)
    if (value.includes("\0"))
      throw this.error(`the value of the parameter ${name} has a zero byte, which PostgreSQL cannot hold`)
    return value
  }

  error(problem: string) {
    return new SqlTextError({ line: this.line, problem })
  }

  /** Blanks and comments. */
  keep(source: string) {
    this.pending += source
    this.advance(source)
  }

  take(source: string, written = source) {
    if (!this.started) {
      this.started = true
      this.pendingLine = this.line
      this.pending = ""
    }
    this.pending += written
    this.advance(source)
  }

  advance(source: string) {
    this.at += source.length
    this.line += source.split("\n").length - 1
  }

  finish(execute: boolean) {
    if (this.started) this.statements.push({ text: this.pending.trim(), line: this.pendingLine, execute })
    this.pending = ""
    this.started = false
  }
}

/** Splits a text into statements and fills in `:'name'` and `:"name"`, which mean nothing inside quotes and comments. */
export const statements = (
  text: string,
  values: ReadonlyMap<string, string>,
  escape: Escape
): Result.Result<ReadonlyArray<Statement>, SqlTextError> =>
  Result.try({
    try: () => new Reader(text, values, escape).read(),
    catch: (error) => {
      if (error instanceof SqlTextError) return error
      throw error
    }
  })
