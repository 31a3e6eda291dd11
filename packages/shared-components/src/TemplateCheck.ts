/**
 * Finds what is wrong with the templates of an object when it is written, before anything is deployed from it.
 *
 * **Guarantees**
 * - S23: every template is checked against what its place may read: roots, components, keys, parameters, functions. Each problem has
 *   a stable reason and a position such as `spec.components[2].env.DATABASE_URL:1:14`.
 * - S22: circles and unknown names among the components are problems too, with the path named.
 *
 * **Caveats**
 * - What only a value decides is found when the template is rendered. Where a condition guards the reading of a value that is
 *   missing, the check lets it pass.
 * - At most 64 problems are listed.
 *
 * @since 0.1.0
 */
import { Result } from "effect"
import * as Dependencies from "./Dependencies.ts"
import type { Environment } from "./Environment.ts"
import type { EnvironmentTemplate } from "./EnvironmentTemplate.ts"
import * as contexts from "./internal/contexts.ts"
import * as problem from "./internal/problem.ts"
import { dotted, step } from "./internal/shape.ts"
import * as texts from "./internal/texts.ts"
import * as Parameters from "./Parameters.ts"
import type { SharedComponent } from "./SharedComponent.ts"
import type { SharedComponentProvider } from "./SharedComponentProvider.ts"
import * as Template from "./Template.ts"

/**
 * Why something is a problem; stable, and safe to show.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason = problem.Reason

/**
 * One thing that is wrong.
 *
 * @category models
 * @since 0.1.0
 */
export type Problem = problem.Problem

/**
 * The objects that a template refers to, as far as they exist.
 *
 * @category models
 * @since 0.1.0
 */
export type World = contexts.World

/**
 * How many problems are listed.
 *
 * @category limits
 * @since 0.1.0
 */
export const problemsMax = 64

const bounded = (problems: ReadonlyArray<Problem>): ReadonlyArray<Problem> => {
  const distinct = new Map(problems.map((each) => [`${each.where} ${each.sentence}`, each]))
  return [...distinct.values()].slice(0, problemsMax)
}

/** Whether the shared components and providers are there. */
const presence = (template: EnvironmentTemplate["spec"], world: World): ReadonlyArray<Problem> =>
  template.components.flatMap(({ sharedComponentRef }, index): ReadonlyArray<Problem> => {
    if (sharedComponentRef === undefined) return []
    const where = `spec.components[${index}].sharedComponentRef.name`
    const shared = world.sharedComponent(sharedComponentRef.name)
    if (shared === undefined) {
      return [
        { reason: "MissingSharedComponent", where, sentence: `there is no SharedComponent ${sharedComponentRef.name}` }
      ]
    }
    const { name } = shared.providerRef
    return world.provider(name) === undefined
      ? [{ reason: "MissingProvider", where, sentence: `its SharedComponent's provider ${name} does not exist` }]
      : []
  })

/**
 * What is wrong with an EnvironmentTemplate, given the shared components and providers that exist.
 *
 * **Details**: a shared component or provider that does not exist is a problem, and its keys are then not checked.
 *
 * @category checks
 * @since 0.1.0
 */
export const environmentTemplate = (template: EnvironmentTemplate["spec"], world: World): ReadonlyArray<Problem> => {
  const shape = contexts.component(template, world)
  return bounded([
    ...presence(template, world),
    ...template.components.flatMap(texts.ofComponent).flatMap((text) => problem.ofText(text, shape)),
    ...Dependencies.problems(template).map(problem.ofDependency)
  ])
}

const bindingType = ({ binding }: SharedComponentProvider["spec"]): ReadonlyArray<Problem> =>
  binding["type"] === undefined || /^[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/u.test(binding["type"])
    ? []
    : [
        {
          reason: "InvalidBindingType",
          where: "spec.binding.type",
          sentence: "a type is a plain word such as postgresql"
        }
      ]

const schemaProblem = ({ parameters }: SharedComponentProvider["spec"]): ReadonlyArray<Problem> => {
  const checked = Parameters.check(parameters, {})
  return Result.isFailure(checked) && checked.failure._tag === "InvalidParameterSchema"
    ? [{ reason: checked.failure._tag, where: "spec.parameters", sentence: checked.failure.problem }]
    : []
}

/**
 * What is wrong with a SharedComponentProvider.
 *
 * @category checks
 * @since 0.1.0
 */
export const provider = (spec: SharedComponentProvider["spec"]): ReadonlyArray<Problem> => {
  const { binding, chart, instance, slice } = texts.ofProvider(spec)
  const checked = [
    [chart, contexts.chart(spec)],
    [slice, contexts.sliceScript(spec)],
    [instance, contexts.instanceScript(spec)],
    [binding, contexts.binding(spec)]
  ] as const
  return bounded([
    ...schemaProblem(spec),
    ...checked.flatMap(([all, shape]) => all.flatMap((text) => problem.ofText(text, shape))),
    ...bindingType(spec)
  ])
}

/** The first key of a path that a value does not have; undefined where it has all of them, as far as they are known. */
const missing = (value: unknown, path: ReadonlyArray<string | undefined>): ReadonlyArray<string> | undefined => {
  let at = value
  for (const [index, key] of path.entries()) {
    if (key === undefined) return undefined
    const known = typeof at === "object" && at !== null && Object.hasOwn(at, key) ? Object.entries(at) : []
    at = known.find(([name]) => name === key)?.[1]
    if (at === undefined) return path.slice(0, index + 1).filter((each) => each !== undefined)
  }
  return undefined
}

interface Given {
  /** What templates call it. */
  readonly root: string
  readonly value: unknown
  /** The field whose value is at this path, of the object that gives it. */
  readonly field: (path: ReadonlyArray<string>) => string
}

/** Values under a root that the templates of another object read whatever happens, and that are not there. */
const missingUnder = (
  all: ReadonlyArray<texts.Text>,
  reader: string,
  { field, root, value }: Given
): ReadonlyArray<Problem> =>
  all.flatMap(texts.references).flatMap((reference): ReadonlyArray<Problem> => {
    const [first, ...rest] = reference.path
    if (first !== root || reference.conditional) return []
    const absent = missing(value, rest)
    return absent === undefined
      ? []
      : [
          {
            reason: "MissingValue",
            where: field(absent),
            sentence: `${dotted([root, ...absent])} has no value, and is read by the ${reader} at ${Template.at(reference)}`
          }
        ]
  })

const below =
  (where: string) =>
  (path: ReadonlyArray<string>): string =>
    where + path.map(step).join("")

/**
 * What is wrong with a SharedComponent, given its provider: parameters that do not fit, or that a template of the provider reads
 * and that have neither a value nor a default.
 *
 * @category checks
 * @since 0.1.0
 */
export const sharedComponent = (
  spec: SharedComponent["spec"],
  provider: SharedComponentProvider["spec"] | undefined
): ReadonlyArray<Problem> => {
  if (provider === undefined) {
    const sentence = `there is no SharedComponentProvider ${spec.providerRef.name}`
    return [{ reason: "MissingProvider", where: "spec.providerRef.name", sentence }]
  }
  const all = Object.values(texts.ofProvider(provider)).flat()
  const reader = `SharedComponentProvider ${spec.providerRef.name}`
  const field = below("spec.parameters")
  return Result.match(Parameters.check(provider.parameters, spec.parameters), {
    onSuccess: (filled) => bounded(missingUnder(all, reader, { root: "Parameters", value: filled, field })),
    onFailure: (error) =>
      error._tag === "InvalidParameterSchema"
        ? [{ reason: error._tag, where: "spec.providerRef.name", sentence: error.message }]
        : bounded(
            error.mismatches.map(({ path, problem }) => ({
              reason: error._tag,
              where: `spec.parameters${path}`,
              sentence: problem
            }))
          )
  })
}

/** Names of components that the template does not have, and keys that a slice does not have. */
const overrides = (
  { env, values }: Environment["spec"],
  template: EnvironmentTemplate["spec"],
  world: World
): ReadonlyArray<Problem> => {
  const known: ReadonlyArray<string> = template.components.map(({ name }) => name)
  const unknown = (path: string, names: ReadonlyArray<string>): ReadonlyArray<Problem> =>
    names
      .filter((name) => !known.includes(name))
      .map((name) => ({
        reason: "UnknownComponent",
        where: path + step(name),
        sentence: `there is no component ${name}; there are ${problem.listed(known)}`
      }))
  const keys = Object.entries(env).flatMap(([name, variables]) =>
    Object.entries(variables).flatMap(([variable, { sliceKeyRef }]): ReadonlyArray<Problem> => {
      const component = template.components.find((each) => each.name === sliceKeyRef?.component)
      if (sliceKeyRef === undefined || component === undefined) return []
      const where = `spec.env${step(name)}${step(variable)}.sliceKeyRef`
      if (component.sharedComponentRef === undefined) {
        return [
          {
            reason: "UnknownKey",
            where: `${where}.component`,
            sentence: `the component ${component.name} is not a slice`
          }
        ]
      }
      const shape = contexts.componentKeys(component, world)
      if (shape.type !== "Map" || shape.keys.has(sliceKeyRef.key)) return []
      const sentence = `${component.name} has no key ${sliceKeyRef.key}; there are ${problem.listed([...shape.keys.keys()])}`
      return [{ reason: "UnknownKey", where: `${where}.key`, sentence }]
    })
  )
  return [...unknown("spec.values", Object.keys(values)), ...unknown("spec.env", Object.keys(env)), ...keys]
}

/** The environment's source as templates see it: with a capital, as all names that are Berth's own. */
const sourceOf = ({ source }: Environment["spec"]): Given => ({
  root: "Source",
  value: {
    ...(source.repo === undefined ? {} : { Repo: source.repo }),
    ...(source.branch === undefined ? {} : { Branch: source.branch }),
    ...(source.sha === undefined ? {} : { Sha: source.sha })
  },
  field: (path) => below("spec.source")(path.map((key) => key.toLowerCase()))
})

const valuesOf = ({ values }: Environment["spec"], component: string): Given => ({
  root: "Values",
  value: values[component] ?? {},
  field: below(`spec.values${step(component)}`)
})

/**
 * What is wrong with an Environment, given its template: names of components that the template does not have, keys that a slice
 * does not have, values and parts of the source that the template reads and that are missing, and circles that the environment's own
 * variables close.
 *
 * @category checks
 * @since 0.1.0
 */
export const environment = (
  spec: Environment["spec"],
  template: EnvironmentTemplate["spec"],
  world: World
): ReadonlyArray<Problem> => {
  const reader = `EnvironmentTemplate ${spec.templateRef.name}`
  const needed = template.components.flatMap((component, index) => {
    const all = texts.ofComponent(component, index)
    return [valuesOf(spec, component.name), sourceOf(spec)].flatMap((given) => missingUnder(all, reader, given))
  })
  const circles = Dependencies.problems(template, spec)
  return bounded([...overrides(spec, template, world), ...needed, ...circles.map(problem.ofDependency)])
}

/**
 * A problem as one line: its place and its sentence.
 *
 * @category conversions
 * @since 0.1.0
 */
export const line = ({ sentence, where }: Problem): string => `${where}: ${sentence}`

/**
 * Problems as the message of a condition: as many lines as fit, and how many more there are.
 *
 * @category conversions
 * @since 0.1.0
 */
export const summary = (problems: ReadonlyArray<Problem>, linesMax = 10): string =>
  [
    ...problems.slice(0, linesMax).map(line),
    ...(problems.length > linesMax ? [`and ${problems.length - linesMax} more`] : [])
  ].join("\n")
