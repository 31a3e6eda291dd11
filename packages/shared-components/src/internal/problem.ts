/** What is wrong with a template, and where. */
import { Result } from "effect"
import type { DependencyError } from "../Dependencies.ts"
import * as Template from "../Template.ts"
import { dotted, type Misfit, misfit, type Shape } from "./shape.ts"
import type { Text } from "./texts.ts"

export type Reason =
  | "TemplateSyntax"
  | "UnknownFunction"
  | "UnknownVariable"
  | "WrongArgument"
  | "TemplateTooLarge"
  | "UnknownKey"
  | "UnknownComponent"
  | "DynamicKey"
  | "IncompletePath"
  | "DependencyCycle"
  | "MissingTemplate"
  | "MissingSharedComponent"
  | "MissingProvider"
  | "MissingValue"
  | "InvalidParameters"
  | "InvalidParameterSchema"
  | "InvalidBindingType"
  | "Unsupported"

export interface Problem {
  readonly reason: Reason
  /** `spec.components[2].env.DATABASE_URL:1:14`, or the path of a field without the place in its text. */
  readonly where: string
  /** A sentence without the place. */
  readonly sentence: string
}

const reasons = {
  TemplateSyntax: "TemplateSyntax",
  UnknownFunction: "UnknownFunction",
  UnknownVariable: "UnknownVariable",
  MissingKey: "UnknownKey",
  BadValue: "WrongArgument",
  LimitExceeded: "TemplateTooLarge"
} as const satisfies Record<Template.TemplateError["_tag"], Reason>

export const ofError = (error: Template.TemplateError): Problem => ({
  reason: reasons[error._tag],
  where: Template.at(error),
  sentence: error.sentence
})

const shownMax = 12

/** A list that ends where it gets long. */
export const listed = (names: ReadonlyArray<string>): string => {
  const more = names.length - shownMax
  return names.slice(0, shownMax).join(", ") + (more > 0 ? ` and ${more} more` : "")
}

const thereAre = (names: ReadonlyArray<string>): string => (names.length === 0 ? "" : `; there are ${listed(names)}`)

const ofUnknown = ({ available, path }: Extract<Misfit, { type: "Unknown" }>, where: string): Problem => {
  const [root, component] = path
  const isComponent = root === "Components" && path.length === 2 && component !== undefined
  return isComponent
    ? { reason: "UnknownComponent", where, sentence: `there is no component ${component}${thereAre(available)}` }
    : { reason: "UnknownKey", where, sentence: `${dotted(path)} does not exist here${thereAre(available)}` }
}

const ofMisfit = (found: Misfit, where: string): Problem => {
  if (found.type === "Unknown") return ofUnknown(found, where)
  const path = dotted(found.path)
  return found.type === "Dynamic"
    ? { reason: "DynamicKey", where, sentence: `${path} is not known before it is rendered; name the key` }
    : { reason: "IncompletePath", where, sentence: `${path} is not a value; name one of its keys` }
}

/** What is wrong with one template that reads a context of this shape. */
export const ofText = ({ source, where }: Text, shape: Shape): ReadonlyArray<Problem> =>
  Result.match(Template.parse(source, { name: where }), {
    onFailure: (error) => [ofError(error)],
    onSuccess: (template) => [
      ...Template.mistakes(template).map(ofError),
      ...Template.references(template).flatMap((reference) => {
        const found = misfit(shape, reference.path)
        return found === undefined ? [] : [ofMisfit(found, Template.at(reference))]
      })
    ]
  })

export const ofDependency = (error: DependencyError): Problem =>
  error._tag === "UnknownComponent"
    ? {
        reason: error._tag,
        where: error.where,
        sentence: `there is no component ${error.needs}${thereAre(error.known)}`
      }
    : {
        reason: error._tag,
        where: error.where,
        sentence: `components need each other in a circle: ${error.path.join(" -> ")}`
      }
