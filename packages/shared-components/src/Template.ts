/**
 * Templates in a subset of Go's `text/template`, with the same results as Go.
 *
 * The subset: paths, `index`, pipelines, variables, literals, comments, trim markers, `if`, `with`, `range` (with `else`,
 * `break` and `continue`), `and or not eq ne lt le gt ge`, `len`, `print`, `printf`, and `default`, `quote`, `lower`, `upper`,
 * `trunc`, `replace`, `b64enc`, `sha256sum`, `shellQuote`, `sqlIdent`, `sqlLiteral`, `urlEncode`. As the one extension a path
 * may hold a hyphen: `.Components.my-db.URL`.
 *
 * **Guarantees**
 * - S23: a key that the context does not have is an error with its place, never an empty text: also in `index`, where Go
 *   gives a zero, and as an argument of `default`, which is for values that are there and empty.
 * - S24: parsing and rendering give what Go gives, for every template of the subset.
 * - S25: no error holds a value of the context.
 * - Size, depth, work and output are bounded, and only a map's own keys are seen, so a hostile template can do no more than
 *   fail.
 *
 * **Caveats**
 * - A whole number of the context is Go's int, any other its float64.
 * - `trunc` counts bytes, as Go does, and drops a character that the cut would tear.
 * - `printf` knows `%s %v %d %q %t %%` and fails where Go would print a complaint such as `%!d(string=x)`.
 * - Not there: `define`, `template`, `block`, `slice`, `call`, `html`, `js`, imaginary numbers and hexadecimal floats.
 *
 * @since 0.1.0
 */
import { Data, Result } from "effect"
import type { Node } from "./internal/template/ast.ts"
import { evaluate } from "./internal/template/evaluate.ts"
import { type Fault, Failure, type LineColumn, locator } from "./internal/template/failure.ts"
import { isFunction } from "./internal/template/functions.ts"
import { parse as parseNodes } from "./internal/template/parser.ts"
import { read } from "./internal/template/references.ts"
import { lift } from "./internal/template/values.ts"

/**
 * The longest template, in characters.
 *
 * @category limits
 * @since 0.1.0
 */
export const sourceMax = 262_144

/**
 * The longest output, in characters; also the longest value that a function may make on the way.
 *
 * @category limits
 * @since 0.1.0
 */
export const outputMax = 1_048_576

/**
 * How much work one rendering may be: one step for each node, and more where functions handle long texts.
 *
 * @category limits
 * @since 0.1.0
 */
export const stepsMax = 200_000

/**
 * Where in which template something is; line and column count from one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  /** The name that the template was given. */
  readonly template: string
  readonly line: number
  readonly column: number
}

/**
 * A place as one text: `spec.components[2].env.DATABASE_URL:1:14`.
 *
 * @category conversions
 * @since 0.1.0
 */
export const at = ({ column, line, template }: Place): string => `${template}:${line}:${column}`

/**
 * The text is not a template of the subset.
 *
 * @category errors
 * @since 0.1.0
 */
export class TemplateSyntax extends Data.TaggedError("TemplateSyntax")<Place & { readonly sentence: string }> {
  override get message() {
    return `${at(this)}: ${this.sentence}`
  }
}

/**
 * The template calls a function that does not exist.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownFunction extends Data.TaggedError("UnknownFunction")<
  Place & { readonly sentence: string; readonly name: string }
> {
  override get message() {
    return `${at(this)}: ${this.sentence}`
  }
}

/**
 * The template uses a variable that it has not declared.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownVariable extends Data.TaggedError("UnknownVariable")<
  Place & { readonly sentence: string; readonly name: string }
> {
  override get message() {
    return `${at(this)}: ${this.sentence}`
  }
}

/**
 * The context has no such key.
 *
 * @category errors
 * @since 0.1.0
 */
export class MissingKey extends Data.TaggedError("MissingKey")<
  Place & {
    readonly sentence: string
    /** As the template names it, up to the key that is missing: `.Components.db`. */
    readonly path: string
  }
> {
  override get message() {
    return `${at(this)}: ${this.sentence}`
  }
}

/**
 * A value is of another type than its use needs, or a function refuses it.
 *
 * @category errors
 * @since 0.1.0
 */
export class BadValue extends Data.TaggedError("BadValue")<Place & { readonly sentence: string }> {
  override get message() {
    return `${at(this)}: ${this.sentence}`
  }
}

/**
 * The template is too long, too deep, takes too much work or makes too much text.
 *
 * @category errors
 * @since 0.1.0
 */
export class LimitExceeded extends Data.TaggedError("LimitExceeded")<
  Place & { readonly sentence: string; readonly limit: number }
> {
  override get message() {
    return `${at(this)}: ${this.sentence}`
  }
}

/**
 * Everything that parsing or rendering can fail with. `message` is the place and the `sentence`, safe to show.
 *
 * @category errors
 * @since 0.1.0
 */
export type TemplateError = TemplateSyntax | UnknownFunction | UnknownVariable | MissingKey | BadValue | LimitExceeded

/**
 * A parsed template.
 *
 * @category models
 * @since 0.1.0
 */
export interface Template {
  readonly name: string
  readonly source: string
  /** What it consists of, for the functions of this module. */
  readonly nodes: ReadonlyArray<Node>
}

/**
 * What templates read: JSON. Keys with an undefined value are missing.
 *
 * @category models
 * @since 0.1.0
 */
export type Context = Readonly<Record<string, unknown>>

const named = (template: string, fault: Fault, place: LineColumn): TemplateError => {
  const where = { template, ...place }
  switch (fault.kind) {
    case "Syntax":
      return new TemplateSyntax({ ...where, sentence: fault.problem })
    case "UnknownFunction":
      return new UnknownFunction({ ...where, name: fault.name, sentence: `there is no function ${fault.name}` })
    case "UnknownVariable":
      return new UnknownVariable({ ...where, name: fault.name, sentence: `the variable ${fault.name} is not declared` })
    case "MissingKey":
      return new MissingKey({ ...where, path: fault.path, sentence: `${fault.path} does not exist` })
    case "BadValue":
      return new BadValue({ ...where, sentence: fault.problem })
    case "LimitExceeded":
      break
  }
  return new LimitExceeded({ ...where, limit: fault.limit, sentence: `more than ${fault.limit} ${fault.what}` })
}

const guarded = <A>(name: string, source: string, work: () => A): Result.Result<A, TemplateError> =>
  Result.try({
    try: work,
    catch: (error) => {
      if (error instanceof Failure) return named(name, error.fault, locator(source)(error.offset))
      throw error
    }
  })

/**
 * Parses a template.
 *
 * **Details**: `name` stands in errors before the line and column, so a path of the object that holds the template makes
 * them look like `spec.components[2].env.DATABASE_URL:1:14`.
 *
 * **Errors**: TemplateSyntax, UnknownFunction, UnknownVariable, LimitExceeded.
 *
 * **Example** (Parse once, render often)
 * ```ts
 * import * as Template from "@berth/shared-components/Template"
 * import { Result } from "effect"
 *
 * const url = Result.flatMap(
 *   Template.parse("postgres://{{ .Instance.USER | urlEncode }}@{{ .Host }}/{{ .Slice.Id }}", { name: "binding.URL" }),
 *   (template) => Template.render(template, { Instance: { USER: "admin" }, Host: "db", Slice: { Id: "abc" } })
 * )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (
  source: string,
  { name = "template" }: { readonly name?: string } = {}
): Result.Result<Template, TemplateError> =>
  source.length > sourceMax
    ? Result.fail(
        new LimitExceeded({
          template: name,
          line: 1,
          column: 1,
          limit: sourceMax,
          sentence: `more than ${sourceMax} characters`
        })
      )
    : guarded(name, source, () => ({ name, source, nodes: parseNodes(source, isFunction) }))

/**
 * The text that a template makes of a context.
 *
 * **Errors**: MissingKey, BadValue, LimitExceeded, and UnknownVariable for an assignment to a variable that was never declared.
 *
 * @category rendering
 * @since 0.1.0
 */
export const render = (template: Template, context: Context): Result.Result<string, TemplateError> =>
  guarded(template.name, template.source, () =>
    evaluate(template.nodes, lift(context) ?? null, { outputMax, workMax: stepsMax })
  )

/**
 * Parses and renders every template of a record, such as a binding or an env; `name` is the path of the record.
 *
 * **Errors**: those of {@link parse} and {@link render}, for the first key in order that fails.
 *
 * @category rendering
 * @since 0.1.0
 */
export const renderRecord = (
  record: Readonly<Record<string, string>>,
  context: Context,
  { name }: { readonly name: string }
): Result.Result<Readonly<Record<string, string>>, TemplateError> => {
  const rendered: Array<readonly [string, string]> = []
  for (const [key, source] of Object.entries(record)) {
    const text = Result.flatMap(parse(source, { name: `${name}.${key}` }), (template) => render(template, context))
    if (Result.isFailure(text)) return Result.fail(text.failure)
    rendered.push([key, text.success])
  }
  return Result.succeed(Object.fromEntries(rendered))
}

/**
 * A path of the context that a template may read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reference extends Place {
  /** Keys from the root of the context; undefined stands for a key that is only known when the template is rendered. */
  readonly path: ReadonlyArray<string | undefined>
  /** Whether a condition of the template decides if it is read. */
  readonly conditional: boolean
}

/**
 * All paths that a template may read, whatever the context: through `with`, `range`, variables and `index`.
 *
 * **Details**: a path that is only passed on the way to a longer one (`with .Components.db`, then `.URL`) is not listed by
 * itself. What a condition decides is not considered: both sides are listed.
 *
 * @category analysis
 * @since 0.1.0
 */
export const references = ({ name, nodes, source }: Template): ReadonlyArray<Reference> => {
  const locate = locator(source)
  return read(nodes).references.map(({ conditional, offset, path }) => ({
    path,
    conditional,
    template: name,
    ...locate(offset)
  }))
}

/**
 * Mistakes that Go finds only when it comes to them: wrong numbers of arguments, and assignments to unknown variables.
 *
 * @category analysis
 * @since 0.1.0
 */
export const mistakes = ({ name, nodes, source }: Template): ReadonlyArray<TemplateError> => {
  const locate = locator(source)
  return read(nodes).faults.map(({ fault, offset }) => named(name, fault, locate(offset)))
}
