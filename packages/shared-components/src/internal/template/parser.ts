/** Makes the syntax tree, by Go's grammar without `define`, `template` and `block`. */
import type { Branch, Command, Node, Operand, Pipe } from "./ast.ts"
import { fail, syntax } from "./failure.ts"
import { type Token, type TokenType, tokens } from "./lexer.ts"
import { character, numeral, quoted, raw } from "./literals.ts"

/** How deep blocks and parentheses may stand in each other. */
export const depthMax = 64

type Closing = { readonly keyword: "end" | "else"; readonly token: Token }

const shown = ({ text, type }: Token): string =>
  type === "End" ? "the end of the template" : type === "Right" ? "the end of the action" : `"${text.slice(0, 32)}"`

class Parser {
  readonly tokens: ReadonlyArray<Token>
  readonly end: Token
  readonly isFunction: (name: string) => boolean
  at = 0
  depth = 0
  ranges = 0
  variables: Array<string> = ["$"]

  constructor(all: ReadonlyArray<Token>, isFunction: (name: string) => boolean) {
    this.tokens = all
    this.end = all[all.length - 1] ?? { type: "End", text: "", offset: 0 }
    this.isFunction = isFunction
  }

  peek(): Token {
    return this.tokens[this.at] ?? this.end
  }

  next(): Token {
    const token = this.peek()
    this.at++
    return token
  }

  skipSpace(): Token {
    if (this.peek().type === "Space") this.at++
    return this.peek()
  }

  unexpected(token: Token, where: string): never {
    return syntax(token.offset, `unexpected ${shown(token)} in ${where}`)
  }

  expectRight(where: string): void {
    const token = this.skipSpace()
    if (token.type !== "Right") this.unexpected(token, where)
    this.at++
  }

  nested<A>(offset: number, work: () => A): A {
    if (this.depth >= depthMax)
      return fail(offset, { kind: "LimitExceeded", what: "levels of nesting", limit: depthMax })
    this.depth++
    const made = work()
    this.depth--
    return made
  }
}

const fields = (parser: Parser, before: ReadonlyArray<string>): ReadonlyArray<string> => {
  const path = [...before]
  while (parser.peek().type === "Field") path.push(parser.next().text.slice(1))
  return path
}

const variable = (parser: Parser, { offset, text }: Token): Operand =>
  parser.variables.includes(text)
    ? { type: "Variable", name: text, path: fields(parser, []), offset }
    : fail(offset, { kind: "UnknownVariable", name: text })

/** How an operand begins, by its first token; without the fields behind it. */
const terms: Partial<Record<TokenType, (parser: Parser, token: Token) => Operand>> = {
  Identifier: (parser, { offset, text }) =>
    parser.isFunction(text)
      ? { type: "Function", name: text, offset }
      : fail(offset, { kind: "UnknownFunction", name: text }),
  Dot: (_, { offset }) => ({ type: "Dot", offset }),
  Nil: (_, { offset }) => ({ type: "Nil", offset }),
  Bool: (_, { offset, text }) => ({ type: "Bool", value: text === "true", offset }),
  Field: (parser, { offset, text }) => ({ type: "Field", path: fields(parser, [text.slice(1)]), offset }),
  Variable: variable,
  String: (_, { offset, text }) => ({ type: "String", value: quoted(text, offset), offset }),
  RawString: (_, { offset, text }) => ({ type: "String", value: raw(text), offset }),
  Number: (_, { offset, text }) => ({ type: "Number", number: numeral(text, offset), offset }),
  Char: (_, { offset, text }) => {
    const value = character(text, offset)
    return { type: "Number", number: { value, integer: value }, offset }
  },
  LeftParen: (parser, { offset }) => ({
    type: "Pipe",
    pipe: parser.nested(offset, () => pipeline(parser, "parentheses", "RightParen")),
    offset
  })
}

/** One operand without the fields behind it; undefined when none is here. */
const term = (parser: Parser): Operand | undefined => {
  const token = parser.peek()
  const begin = terms[token.type]
  if (begin === undefined) return undefined
  parser.at++
  return begin(parser, token)
}

const operand = (parser: Parser): Operand | undefined => {
  const found = term(parser)
  if (found === undefined || parser.peek().type !== "Field") return found
  if (found.type !== "Pipe" && found.type !== "Function") {
    return syntax(parser.peek().offset, "a field cannot follow this value")
  }
  return { type: "Chain", operand: found, path: fields(parser, []), offset: found.offset }
}

const command = (parser: Parser): Command => {
  const { offset } = parser.skipSpace()
  const operands: Array<Operand> = []
  for (;;) {
    parser.skipSpace()
    const found = operand(parser)
    if (found !== undefined) operands.push(found)
    const token = parser.peek()
    if (token.type === "Space") continue
    if (token.type === "Pipe") parser.at++
    else if (token.type !== "Right" && token.type !== "RightParen") parser.unexpected(token, "a command")
    break
  }
  const [first, ...rest] = operands
  return first === undefined ? syntax(offset, "a command is empty") : { first, rest, offset }
}

/** Variables before `:=` or `=`, if there are some; the cursor goes back otherwise. */
const declared = (
  parser: Parser,
  ofRange: boolean
): { readonly names: ReadonlyArray<string>; readonly assigns: boolean } => {
  const names: Array<string> = []
  for (;;) {
    const start = parser.at
    const token = parser.skipSpace()
    if (token.type !== "Variable") {
      if (names.length > 0 && token.type !== "Right" && token.type !== "RightParen")
        syntax(token.offset, "a range declares variables only")
      return { names, assigns: false }
    }
    parser.at++
    const sign = parser.skipSpace()
    if (sign.type === "Assign" || sign.type === "Declare") {
      parser.at++
      return { names: [...names, token.text], assigns: sign.type === "Assign" }
    }
    if (sign.type !== "Comma") {
      parser.at = start
      return { names, assigns: false }
    }
    parser.at++
    names.push(token.text)
    if (!ofRange || names.length > 1) syntax(sign.offset, "too many variables are declared")
  }
}

const pipeline = (parser: Parser, where: string, end: "Right" | "RightParen"): Pipe => {
  const { offset } = parser.skipSpace()
  const { assigns, names } = declared(parser, where === "range")
  const commands: Array<Command> = []
  // A variable is known to its own value's expression, as in Go, where using it there fails when it is evaluated.
  parser.variables.push(...names)
  for (;;) {
    const token = parser.skipSpace()
    if (token.type === end) break
    if (terms[token.type] === undefined) parser.unexpected(token, where)
    commands.push(command(parser))
  }
  const closing = parser.next()
  if (commands.length === 0) syntax(closing.offset, `a value is missing in ${where}`)
  for (const { first, offset: at } of commands.slice(1)) {
    if (["Bool", "Dot", "Nil", "Number", "String"].includes(first.type)) {
      syntax(at, "a later stage of a pipeline must be a function")
    }
  }
  return { variables: names, assigns, commands, offset }
}

const branch = (parser: Parser, type: Branch["type"], offset: number): Branch => {
  const scope = parser.variables.length
  const pipe = pipeline(parser, type.toLowerCase(), "Right")
  if (type === "Range") parser.ranges++
  const [body, closing] = list(parser)
  if (type === "Range") parser.ranges--
  let otherwise: ReadonlyArray<Node> | undefined
  if (closing.keyword === "else") {
    const follow = parser.peek()
    const chained = follow.type === "Keyword" ? follow.text : ""
    if ((chained === "if" && type === "If") || (chained === "with" && type === "With")) {
      parser.at++
      otherwise = [parser.nested(follow.offset, () => branch(parser, type, follow.offset))]
    } else {
      if (chained !== "") parser.unexpected(follow, "else")
      const [rest, last] = list(parser)
      if (last.keyword !== "end") syntax(last.token.offset, "an end is expected, not another else")
      otherwise = rest
    }
  }
  parser.variables.length = scope
  return { type, pipe, body, otherwise, offset }
}

const jump = (parser: Parser, type: "Break" | "Continue", offset: number): Node => {
  parser.expectRight(type.toLowerCase())
  return parser.ranges > 0 ? { type, offset } : syntax(offset, `${type.toLowerCase()} stands outside of a range`)
}

const keyword = (parser: Parser, token: Token): Node | Closing => {
  const { offset, text } = token
  switch (text) {
    case "if":
      return parser.nested(offset, () => branch(parser, "If", offset))
    case "with":
      return parser.nested(offset, () => branch(parser, "With", offset))
    case "range":
      return parser.nested(offset, () => branch(parser, "Range", offset))
    case "break":
      return jump(parser, "Break", offset)
    case "continue":
      return jump(parser, "Continue", offset)
    case "end":
      parser.expectRight("end")
      return { keyword: "end", token }
    case "else": {
      const follow = parser.skipSpace()
      // What follows is read as the start of an action of its own: {{else if .X}}.
      if (!(follow.type === "Keyword" && (follow.text === "if" || follow.text === "with"))) parser.expectRight("else")
      return { keyword: "else", token }
    }
    default:
      return syntax(offset, `${text} is not part of this template language`)
  }
}

const element = (parser: Parser): Node | Closing => {
  const token = parser.next()
  if (token.type === "Text") return { type: "Text", text: token.text, offset: token.offset }
  const first = parser.skipSpace()
  if (first.type === "Keyword") {
    parser.at++
    return keyword(parser, first)
  }
  return { type: "Action", pipe: pipeline(parser, "an action", "Right"), offset: first.offset }
}

/** Nodes up to an `end` or `else`. */
const list = (parser: Parser): readonly [ReadonlyArray<Node>, Closing] => {
  const nodes: Array<Node> = []
  for (;;) {
    if (parser.peek().type === "End") return syntax(parser.peek().offset, "a block is not closed by an end")
    const made = element(parser)
    if ("keyword" in made) return [nodes, made]
    nodes.push(made)
  }
}

/** The tree of a template. */
export const parse = (text: string, isFunction: (name: string) => boolean): ReadonlyArray<Node> => {
  const parser = new Parser(tokens(text), isFunction)
  const nodes: Array<Node> = []
  while (parser.peek().type !== "End") {
    const made = element(parser)
    if ("keyword" in made) return syntax(made.token.offset, `unexpected ${made.keyword}`)
    nodes.push(made)
  }
  return nodes
}
