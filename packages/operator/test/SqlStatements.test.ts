import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { escapeIdentifier, escapeLiteral } from "pg"
import { statements } from "../src/internal/sql/statements.ts"

const escape = { identifier: escapeIdentifier, literal: escapeLiteral }
const read = (text: string, values: Record<string, string> = {}) =>
  statements(text, new Map(Object.entries(values)), escape)
const texts = (text: string, values: Record<string, string> = {}) =>
  Result.getOrThrow(read(text, values)).map((each) => each.text)
const problem = (text: string) => Result.getOrThrow(Result.flip(read(text))).message

describe("statements", () => {
  const whole: ReadonlyArray<readonly [string, string]> = [
    ["select ';'", "a semicolon in a string"],
    ["select 'it''s; :''x'''", "doubled quotes stay inside the string"],
    [`select "a;b"`, "a quoted identifier"],
    ["select E'a\\';b'", "a backslash escapes the quote of an E string"],
    ["select $$ ; :'x' $$", "a dollar quote"],
    ["select $tag$ ; $$ ; $tag$", "a tagged dollar quote holds another"],
    ["select 1 -- ; :'x'", "a comment to the end of the line"],
    ["select /* ; /* :'x' */ ; */ 1", "nested comments"],
    ["select a$b$c, 1", "a dollar inside a word opens nothing"],
    ["select x::text, a[1:2]", "casts and slices are no parameters"],
    ["select $1", "a positional parameter opens no dollar quote"]
  ]
  it.each(whole)("reads %s as one statement: %s", (text) => {
    assert.deepStrictEqual(texts(text), [text])
  })

  it("splits at semicolons, drops what is empty, and remembers lines", () => {
    const read_ = Result.getOrThrow(read("-- first\nselect 1;;\n\n/* second */ select\n2\n;"))

    assert.deepStrictEqual(read_, [
      { text: "select 1", line: 2, execute: false },
      { text: "select\n2", line: 4, execute: false }
    ])
  })

  it("fills parameters in as literals and identifiers", () => {
    assert.deepStrictEqual(texts(`create role :"name" password :'word'`, { name: 'a"b', word: "x'y" }), [
      `create role "a""b" password 'x''y'`
    ])
  })

  const hostile = ["'; drop table x; --", '"; drop table x; --', "\\'; --", "$$;", ":'other'", "/*", "\n;\n"]
  it.each(hostile)("keeps the value %j inside its quotes", (value) => {
    const filled = texts(`select :'v' as :"v"`, { v: value })

    assert.deepStrictEqual(filled, [`select ${escapeLiteral(value)} as ${escapeIdentifier(value)}`])
    assert.lengthOf(filled, 1)
  })

  it("takes a \\gexec as the end of its statement", () => {
    assert.deepStrictEqual(Result.getOrThrow(read("select 'x' \\gexec\nselect 2")), [
      { text: "select 'x'", line: 1, execute: true },
      { text: "select 2", line: 2, execute: false }
    ])
  })

  const refused: ReadonlyArray<readonly [string, RegExp]> = [
    ["select 1;\nselect 'open", /^line 2: this ' is not closed$/u],
    [`select "open`, /^line 1: this " is not closed$/u],
    ["select $a$ open $b$", /\$a\$ opens is not closed/u],
    ["/* open /* */", /comment is not closed/u],
    ["select :'missing'", /no value for the parameter missing/u],
    ["\\dt", /\\dt is not supported/u],
    ["\\gexec", /no statement before it/u]
  ]
  it.each(refused)("refuses %j", (text, expected) => {
    assert.match(problem(text), expected)
  })
})
