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

  it("S24: a path may hold hyphens, which Go's may not", () => {
    const context = { Components: { "my-db": { URL: "u", "a--b": { "1-x": "deep" } }, my: "short" } }

    assert.deepStrictEqual(made("{{ .Components.my-db.URL }}", context), { output: "u" })
    assert.deepStrictEqual(made("{{.Components.my-db.a--b.x}}{{.Components.my}}", context), { error: "render" })
    assert.deepStrictEqual(made('{{ with $c := .Components.my-db }}{{ index $c.a--b "1-x" }}{{ end }}', context), {
      output: "deep"
    })
    assert.deepStrictEqual(made("{{ (.Components).my-db.URL | upper -}} x", context), { output: "Ux" })
    assert.deepStrictEqual(made("{{.Components.my-}}", context), { error: "parse" })
    assert.deepStrictEqual(made("{{.Components.my -}} x", context), { output: "shortx" })
    assert.deepStrictEqual(made("{{$x-y := 1}}", context), { error: "parse" })
  })
})

/** The error of a template over a context. */
const failure = (source: string, context: Template.Context = {}): Template.TemplateError => {
  const result = Result.flatMap(Template.parse(source, { name: "spec.x" }), (template) =>
    Template.render(template, context)
  )
  assert(Result.isFailure(result))
  return result.failure
}

describe("Template errors", () => {
  const rows = [
    { source: "a\n b {{ .Env.Nam }}", tag: "MissingKey", message: "spec.x:2:7: .Env.Nam does not exist" },
    { source: "{{ .Nope.x }}", tag: "MissingKey", message: "spec.x:1:4: .Nope does not exist" },
    { source: "{{ default 1 .Nope }}", tag: "MissingKey", message: "spec.x:1:14: .Nope does not exist" },
    { source: "{{ with .Env }}{{ .Nope }}{{ end }}", tag: "MissingKey", message: "spec.x:1:19: .Nope does not exist" },
    { source: '{{ index .Env "Nope" }}', tag: "MissingKey", message: 'spec.x:1:4: index "Nope" does not exist' },
    { source: "{{ .Env.constructor }}", tag: "MissingKey", message: "spec.x:1:4: .Env.constructor does not exist" },
    { source: "{{ .__proto__ }}", tag: "MissingKey", message: "spec.x:1:4: .__proto__ does not exist" },
    { source: "{{ .Env.toString }}", tag: "MissingKey", message: "spec.x:1:4: .Env.toString does not exist" },
    {
      source: '{{ index .Env "hasOwnProperty" }}',
      tag: "MissingKey",
      message: 'spec.x:1:4: index "hasOwnProperty" does not exist'
    },
    { source: "{{ .undefined }}", tag: "MissingKey", message: "spec.x:1:4: .undefined does not exist" },
    { source: "{{ .Env.Name.x }}", tag: "BadValue", message: "spec.x:1:4: .Env.Name is a string, which has no key x" },
    { source: "{{ lower 3 }}", tag: "BadValue", message: "spec.x:1:10: lower needs a string, not a int" },
    { source: "ä😀{{ nope }}", tag: "UnknownFunction", message: "spec.x:1:6: there is no function nope" },
    { source: "{{ $x }}", tag: "UnknownVariable", message: "spec.x:1:4: the variable $x is not declared" },
    { source: "{{ if .Env }}", tag: "TemplateSyntax", message: "spec.x:1:14: a block is not closed by an end" },
    {
      source: '{{ define "x" }}{{ end }}',
      tag: "TemplateSyntax",
      message: "spec.x:1:4: define is not part of this template language"
    }
  ]
  it.each(rows)("S23: $source fails with its place: $message", ({ message, source, tag }) => {
    const error = failure(source, { Env: { Name: "one" }, undefined })

    assert.deepStrictEqual([error._tag, error.message], [tag, message])
  })

  it("S25: no error says a value of the context", () => {
    const secret = "hunter2"
    const context = { Instance: { PASSWORD: secret, nul: `${secret}\0`, list: [secret], long: secret.repeat(20) } }
    const sources = [
      "{{ .Instance.PASSWORD.x }}",
      "{{ index .Instance .Instance.PASSWORD }}",
      "{{ index .Instance.list .Instance.PASSWORD }}",
      "{{ range .Instance.PASSWORD }}{{ end }}",
      "{{ lt .Instance.PASSWORD 1 }}",
      "{{ eq .Instance.PASSWORD 1 }}",
      "{{ trunc .Instance.PASSWORD 1 }}",
      "{{ printf .Instance.PASSWORD 1 }}",
      '{{ printf "%d" .Instance.PASSWORD }}',
      "{{ shellQuote .Instance.nul }}",
      "{{ sqlIdent .Instance.long }}",
      "{{ sqlLiteral .Instance.list }}",
      "{{ .Instance.PASSWORD | .Instance.PASSWORD }}"
    ]

    for (const source of sources) assert.notInclude(failure(source, context).message, secret)
  })
})

describe("Template limits", () => {
  const nested = (depth: number) => "{{if 1}}".repeat(depth) + "{{end}}".repeat(depth)
  const rows = [
    { what: "a template that is too long", source: "x".repeat(Template.sourceMax + 1), limit: Template.sourceMax },
    { what: "blocks that stand too deep", source: nested(65), limit: 64 },
    { what: "parentheses that stand too deep", source: `{{ ${"(".repeat(1000)}1${")".repeat(1000)} }}`, limit: 64 },
    { what: "a long chain of else", source: `{{if 0}}${"{{else if 0}}".repeat(100)}{{end}}`, limit: 64 },
    {
      what: "loops within loops",
      source: "{{range 1000}}{{range 1000}}{{range 1000}}{{end}}{{end}}{{end}}",
      limit: Template.stepsMax
    },
    { what: "an endless loop", source: "{{range 9223372036854775807}}{{end}}", limit: Template.stepsMax },
    { what: "too much output", source: `{{range 1000}}${"x".repeat(2000)}{{end}}`, limit: Template.outputMax },
    {
      what: "a text that doubles",
      source: '{{$x := "aaaa"}}{{range 100}}{{$x = replace "a" "aaaa" $x}}{{end}}',
      limit: Template.outputMax
    },
    {
      what: "a text that explodes at once",
      source: `{{$x := "${"a".repeat(200_000)}"}}{{replace "a" $x $x}}`,
      limit: Template.outputMax
    },
    {
      what: "a text that doubles with print",
      source: '{{$x := "aaaa"}}{{range 100}}{{$x = print $x $x}}{{end}}',
      limit: Template.outputMax
    },
    {
      what: "much work on long texts",
      source: `{{$x := "${"x".repeat(200_000)}"}}{{range 1000}}{{$y := sha256sum $x}}{{end}}`,
      limit: Template.stepsMax
    }
  ]
  it.each(rows)("S24: $what ends in an error", ({ limit, source }) => {
    const error = failure(source)

    assert(error._tag === "LimitExceeded")
    assert.strictEqual(error.limit, limit)
  })

  it("S24: printing a value that is nested without end fails, and does not bring down the program", () => {
    let value: unknown = "x"
    for (let depth = 0; depth < 100_000; depth++) value = [value]

    assert.strictEqual(failure("{{ .value }}", { value })._tag, "LimitExceeded")
  })

  it("S24: at the limits a template still works", () => {
    assert.deepStrictEqual(made("x".repeat(Template.sourceMax), {}), { output: "x".repeat(Template.sourceMax) })
    assert.deepStrictEqual(made(nested(64), {}), { output: "" })
    assert.deepStrictEqual(made("{{.x}}", { x: "y".repeat(Template.outputMax) }), {
      output: "y".repeat(Template.outputMax)
    })
  })

  const fragments = [
    "{{",
    "}}",
    "-",
    " ",
    ".",
    "$x",
    ":=",
    "=",
    "|",
    "(",
    ")",
    "if",
    "end",
    "range",
    "else",
    '"',
    "`",
    "'",
    "\\",
    "/*",
    "*/",
    "1",
    "a",
    ".A",
    "nil",
    ",",
    "\n",
    "é",
    "with"
  ] as const
  it.prop(
    "S24: whatever the text, parsing and rendering end in a result and the analysis in a list",
    [Schema.Array(Schema.Literals(fragments))],
    ([parts]) => {
      const template = Template.parse(`{{${parts.join("")}}}`)
      if (Result.isFailure(template)) return
      Template.render(template.success, { A: { a: [1, { A: "x" }] } })
      Template.references(template.success)
      Template.mistakes(template.success)
    },
    { arbitrary: { runs: 2000, size: 40 } }
  )

  it("S24: hostile texts are told apart in no time", () => {
    const hostile = [
      `{{ "${"\\a".repeat(60_000)}`,
      `{{ ${"a".repeat(200_000)}`,
      `{{ ${"1".repeat(200_000)} }}`,
      `{{ .${"a-".repeat(100_000)} }}`,
      "{{/*".repeat(50_000),
      `{{${" ".repeat(200_000)}`,
      "{{if 1}}".repeat(30_000),
      `{{ ${"1_".repeat(100_000)} }}`,
      `{{$x := .}}${"{{$x = $x.a}}{{$x = $x.b}}".repeat(5000)}{{$x}}`,
      `{{ or ${".a ".repeat(60_000)} }}`
    ]

    // What it computes, not what a busy machine has it wait for.
    const before = process.threadCpuUsage()
    for (const source of hostile) Result.map(Template.parse(source), Template.references)
    const { user, system } = process.threadCpuUsage(before)

    assert.isBelow((user + system) / 1000, 3000)
  })
})

const paths = (source: string) =>
  Template.references(Result.getOrThrow(Template.parse(source))).map(
    ({ column, conditional, path }) => `${column}${conditional ? "?" : ""} ${path.map((key) => key ?? "*").join(".")}`
  )

describe("Template references", () => {
  const rows = [
    { source: "{{ .A.b }}{{ .C | lower }}", found: ["4 A.b", "14 C"], of: "paths and pipelines" },
    { source: "{{ if .A }}{{ .B }}{{ else }}{{ .C }}{{ end }}", found: ["7 A", "15? B", "33? C"], of: "conditions" },
    { source: "{{ with .A }}{{ .b.c }}{{ $.D }}{{ end }}", found: ["17? A.b.c", "27? D"], of: "with" },
    { source: "{{ with .A }}x{{ end }}", found: ["9 A"], of: "with whose value is only tested" },
    { source: "{{ with .A }}{{ . }}{{ else }}{{ .b }}{{ end }}", found: ["17? A", "34? b"], of: "with and else" },
    { source: "{{ range .A }}{{ .b }}{{ end }}", found: ["18? A.*.b"], of: "range" },
    { source: "{{ range $k, $v := .A }}{{ $k }}{{ $v.b }}{{ end }}", found: ["36? A.*.b"], of: "range with variables" },
    { source: "{{ range .A }}x{{ end }}", found: ["10 A"], of: "range whose elements are not read" },
    { source: '{{ index .A "b" "c-d" }}', found: ["4 A.b.c-d"], of: "index with literal keys" },
    { source: "{{ index .A .B }}", found: ["4 A.*", "13 B"], of: "index with a key that is read" },
    { source: '{{ "b" | index .A }}', found: ["4 A.*"], of: "index with a piped key" },
    { source: '{{ (index .A "b").c }}', found: ["4 A.b.c"], of: "fields of a parenthesis" },
    { source: "{{ $x := .A }}{{ $x.b }}", found: ["18 A.b"], of: "a variable" },
    { source: "{{ $x := .A }}", found: ["4 A"], of: "a variable that is not used" },
    {
      source: "{{ $x := .A }}{{ if .B }}{{ $x = .C }}{{ end }}{{ $x.d }}",
      found: ["21 B", "51 A.d", "51 C.d"],
      of: "a variable that is assigned in a branch"
    },
    {
      source: "{{ $x := .A }}{{ range .L }}{{ $x.b }}{{ $x = .c }}{{ end }}",
      found: ["32? A.b", "32? L.*.c.b"],
      of: "a variable that is assigned later in a loop"
    },
    { source: "{{ (default .A .B).c }}", found: ["4 A.c", "4 B.c"], of: "default" },
    { source: "{{ and .A .B }}", found: ["4 A", "4 B"], of: "and" },
    {
      source: "{{ $x := .A }}{{ with .B }}{{ $x := .c }}{{ $x.d }}{{ end }}{{ $x.e }}",
      found: ["45? B.c.d", "64 A.e"],
      of: "a variable that hides another"
    },
    { source: "{{ .A.b-c }}{{ $ }}{{ . }}", found: ["4 A.b-c", "16 ", "23 "], of: "hyphens and the whole context" },
    { source: '{{ printf "%s" (lower .A) .B }}', found: ["23 A", "27 B"], of: "arguments" },
    { source: '{{ "text" }}{{ 3 }}{{/* .A */}}', found: [], of: "nothing" }
  ]
  it.each(rows)("S22, S23: $of: $source", ({ found, source }) => {
    assert.deepStrictEqual(paths(source), found)
  })

  it("S22, S23: a value that may be anything is a key that is not known", () => {
    assert.deepStrictEqual(paths("{{ $x := .A }}{{ range 9 }}{{ $x = $x.a }}{{ end }}{{ $x }}").slice(-1), ["55 *"])
  })

  it.prop(
    "S23: what a template reads is among its references",
    [Schema.Literals(goldens.cases.filter(({ error }) => error === undefined).map(({ template }) => template))],
    ([source]) => {
      const template = Result.getOrThrow(Template.parse(source))
      const read = new Set<string>()
      Template.render(template, recording(goldens.contexts["plain"] ?? {}, [], read))
      const known = Template.references(template).map(({ path }) => path)

      for (const path of [...read].filter((each) => !each.endsWith("length"))) {
        const keys = path.split("\u0000")
        assert(
          known.some((each) =>
            keys.every((key, at) => at >= each.length || each[at] === undefined || each[at] === key)
          ),
          `${source} reads ${keys.join(".")}`
        )
      }
    },
    { arbitrary: { runs: 1000 } }
  )
})

/** A context that notes every key that is looked up. */
const recording = (value: object, path: ReadonlyArray<string>, read: Set<string>): Template.Context =>
  new Proxy<Record<string, unknown>>(Object.assign(Array.isArray(value) ? Object([]) : {}, value), {
    get: (target, key) => {
      const inner = Reflect.get(target, key)
      if (typeof key !== "string" || !Object.hasOwn(target, key)) return inner
      const here = [...path, key]
      read.add(here.join("\u0000"))
      return typeof inner === "object" && inner !== null ? recording(inner, here, read) : inner
    }
  })
