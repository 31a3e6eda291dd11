/**
 * The values of a chart: a tree of JSON in which every text is a template. What a template gives is a text again, in the same place:
 * it never becomes more of the tree. A text that may hold something secret is `Redacted`.
 */
import type * as CdDriver from "@berth/provisioners/CdDriver"
import { Redacted, Result } from "effect"
import * as Template from "../Template.ts"
import { step } from "./shape.ts"
import { depthMax } from "./texts.ts"

type Value = CdDriver.Value
type Rendered<A> = Result.Result<A, Template.TemplateError>

export interface Scene {
  readonly context: Template.Context
  /** Whatever is read below this root of the context is secret. */
  readonly secret: string
}

/** All texts together: as long as one template's output. Helm keeps no more than that either. */
const lengthMax = Template.outputMax

const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)
const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !isList(value) && !Redacted.isRedacted(value)

const exceeded = (template: string, limit: number, what: string): Rendered<never> =>
  Result.fail(
    new Template.LimitExceeded({ template, line: 1, column: 1, limit, sentence: `more than ${limit} ${what}` })
  )

/** What cannot be told from the template may be anything. */
const readsSecret = (template: Template.Template, secret: string): boolean =>
  Template.references(template).some(({ path: [root] }) => root === undefined || root === secret)

const ofText = ({ context, secret }: Scene, where: string, source: string): Rendered<string | Redacted.Redacted> =>
  Result.flatMap(Template.parse(source, { name: where }), (template) =>
    Result.map(Template.render(template, context), (text) =>
      readsSecret(template, secret) ? Redacted.make(text) : text
    )
  )

const lengthOf = (text: string | Redacted.Redacted): number =>
  typeof text === "string" ? text.length : Redacted.value(text).length

/** The tree with every text rendered. `where` is the path of the field that holds it. */
export const render = (
  scene: Scene,
  where: string,
  values: Readonly<Record<string, unknown>>
): Rendered<CdDriver.Values> => {
  let left = lengthMax
  const leaf = (at: string, source: string): Rendered<Value> =>
    Result.flatMap(ofText(scene, at, source), (text) => {
      left -= lengthOf(text)
      return left < 0 ? exceeded(at, lengthMax, "characters in all values") : Result.succeed(text)
    })
  const visit = (at: string, value: unknown, depth: number): Rendered<Value> => {
    if (typeof value === "string") return leaf(at, value)
    if (depth >= depthMax) return exceeded(at, depthMax, "levels")
    if (isList(value)) return Result.all(value.map((each, index) => visit(at + step(String(index)), each, depth + 1)))
    return isMap(value) ? map(at, value, depth) : Result.succeed(scalar(value))
  }
  const map = (at: string, value: Readonly<Record<string, unknown>>, depth: number): Rendered<CdDriver.Values> =>
    Result.map(
      Result.all(
        Object.entries(value).map(([key, each]) =>
          Result.map(visit(at + step(key), each, depth + 1), (rendered) => [key, rendered] as const)
        )
      ),
      (entries): CdDriver.Values => Object.fromEntries(entries)
    )
  return map(where, values, 0)
}

const scalar = (value: unknown): Value => (typeof value === "number" || typeof value === "boolean" ? value : null)

/** Values as they are, without any template. */
export const literal = (values: Readonly<Record<string, unknown>>): CdDriver.Values => {
  const of = (value: unknown): Value => {
    if (typeof value === "string") return value
    if (isList(value)) return value.map(of)
    return isMap(value) ? literal(value) : scalar(value)
  }
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, of(value)]))
}

const isValues = (value: Value | undefined): value is CdDriver.Values => isMap(value)

/** Both, as Helm merges values files: maps merge, anything else takes the place of what was there. */
export const merged = (under: CdDriver.Values, over: CdDriver.Values): CdDriver.Values => {
  const result = new Map(Object.entries(under))
  for (const [key, value] of Object.entries(over)) {
    const before = result.get(key)
    result.set(key, isValues(before) && isValues(value) ? merged(before, value) : value)
  }
  return Object.fromEntries(result)
}

/** The values of something that is suspended: these, where there are any, over all others. */
export const suspended = (
  scene: Scene,
  where: string,
  whole: Rendered<CdDriver.Values>,
  values: Readonly<Record<string, unknown>> | undefined
): Rendered<CdDriver.Values> =>
  values === undefined
    ? whole
    : Result.flatMap(whole, (under) => Result.map(render(scene, where, values), (over) => merged(under, over)))
