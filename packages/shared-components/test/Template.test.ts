import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Template from "../src/Template.ts"

const Goldens = Schema.Struct({
  contexts: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown)),
  cases: Schema.Array(
    Schema.Struct({
      template: Schema.String,
      context: Schema.String,
      output: Schema.optionalKey(Schema.String),
      error: Schema.optionalKey(Schema.Literals(["parse", "render"]))
    })
  )
})

const goldens = Schema.decodeUnknownSync(Schema.fromJsonString(Goldens))(
  readFileSync(new URL("./testdata/template-goldens.json", import.meta.url), "utf8")
)

/** What this engine makes of a case, in the words of the goldens. */
const made = (source: string, context: Template.Context): { readonly output?: string; readonly error?: string } => {
  const template = Template.parse(source)
  if (Result.isFailure(template)) return { error: "parse" }
  const output = Template.render(template.success, context)
  return Result.isFailure(output) ? { error: "render" } : { output: output.success }
}

describe("Template", () => {
  it("S24: every template gives what Go gives", () => {
    const differing = goldens.cases.flatMap(({ context, error, output, template }) => {
      const expected = error === undefined ? { output: output ?? "" } : { error }
      const actual = made(template, goldens.contexts[context] ?? {})
      return JSON.stringify(actual) === JSON.stringify(expected) ? [] : [{ template, expected, actual }]
    })

    assert.isAbove(goldens.cases.length, 1000)
    assert.deepStrictEqual(differing, [])
  })
})
