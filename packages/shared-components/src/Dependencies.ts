/**
 * Which components of an environment need which others.
 *
 * **Guarantees**
 * - S22: a component needs those that it says (`dependsOn`) and those that its templates and an environment's variables refer to;
 *   nothing has to be said twice. A cycle is refused with its path, an unknown name with its place.
 * - S2: slices that are needed together are always listed in name order, so that two environments ask in the same order.
 *
 * **Caveats**
 * - A text that is not a template refers to nothing here: `TemplateCheck` says what is wrong with it.
 *
 * @since 0.1.0
 */
import { Data, Result } from "effect"
import type { Environment } from "./Environment.ts"
import type { EnvironmentTemplate } from "./EnvironmentTemplate.ts"
import { ofComponent, references } from "./internal/texts.ts"
import { at } from "./Template.ts"

type TemplateSpec = EnvironmentTemplate["spec"]
type EnvironmentSpec = Pick<Environment["spec"], "env">

/**
 * One component needs another.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dependency {
  readonly component: string
  readonly needs: string
  /** The place that says so: `spec.components[2].env.DATABASE_URL:1:14`. */
  readonly where: string
}

/**
 * A component needs one that the template does not have.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownComponent extends Data.TaggedError("UnknownComponent")<
  Dependency & { readonly known: ReadonlyArray<string> }
> {
  override get message() {
    return `${this.where}: there is no component ${this.needs}`
  }
}

/**
 * Components need each other in a circle.
 *
 * @category errors
 * @since 0.1.0
 */
export class DependencyCycle extends Data.TaggedError("DependencyCycle")<{
  /** The first component stands again at the end. */
  readonly path: ReadonlyArray<string>
  /** The place that closes the circle. */
  readonly where: string
}> {
  override get message() {
    return `${this.where}: components need each other in a circle: ${this.path.join(" -> ")}`
  }
}

/**
 * Why components have no order.
 *
 * @category errors
 * @since 0.1.0
 */
export type DependencyError = UnknownComponent | DependencyCycle

/**
 * All dependencies, also those on components that do not exist; in the order of the fields that say so.
 *
 * @category analysis
 * @since 0.1.0
 */
export const all = (template: TemplateSpec, environment?: EnvironmentSpec): ReadonlyArray<Dependency> => [
  ...template.components.flatMap((component, index) => [
    ...component.dependsOn.map((needs, at) => ({
      component: component.name,
      needs,
      where: `spec.components[${index}].dependsOn[${at}]`
    })),
    ...ofComponent(component, index)
      .flatMap(references)
      .flatMap((reference) => {
        const [root, needs] = reference.path
        return root === "Components" && needs !== undefined
          ? [{ component: component.name, needs, where: at(reference) }]
          : []
      })
  ]),
  ...Object.entries(environment?.env ?? {}).flatMap(([component, variables]) =>
    Object.entries(variables).flatMap(([name, { sliceKeyRef }]) =>
      sliceKeyRef === undefined
        ? []
        : [{ component, needs: sliceKeyRef.component, where: `spec.env.${component}.${name}.sliceKeyRef.component` }]
    )
  )
]

/**
 * Components whose needs are all among them, without a circle.
 *
 * @category models
 * @since 0.1.0
 */
export interface Graph {
  /** In the template's order. */
  readonly components: ReadonlyArray<string>
  /** What each needs, in name order. */
  readonly needs: ReadonlyMap<string, ReadonlyArray<string>>
}

const byComponent = (dependencies: ReadonlyArray<Dependency>): ReadonlyMap<string, ReadonlyArray<Dependency>> => {
  const grouped = new Map<string, Array<Dependency>>()
  for (const each of dependencies) grouped.set(each.component, [...(grouped.get(each.component) ?? []), each])
  return grouped
}

const circlesMax = 16

/** Every circle that a search in declared order closes. */
const circles = (
  components: ReadonlyArray<string>,
  dependencies: ReadonlyArray<Dependency>
): ReadonlyArray<DependencyCycle> => {
  const outgoing = byComponent(dependencies)
  const found: Array<DependencyCycle> = []
  const done = new Set<string>()
  const visit = (component: string, path: ReadonlyArray<string>): void => {
    if (done.has(component)) return
    for (const { needs, where } of outgoing.get(component) ?? []) {
      const from = [...path, component].indexOf(needs)
      if (from < 0) visit(needs, [...path, component])
      else if (found.length < circlesMax && !found.some((each) => each.where === where)) {
        found.push(new DependencyCycle({ path: [...path, component, needs].slice(from), where }))
      }
    }
    done.add(component)
  }
  for (const component of components) visit(component, [])
  return found
}

/**
 * Everything that keeps the components from having an order.
 *
 * @category analysis
 * @since 0.1.0
 */
export const problems = (template: TemplateSpec, environment?: EnvironmentSpec): ReadonlyArray<DependencyError> => {
  const known: ReadonlyArray<string> = template.components.map(({ name }) => name)
  const dependencies = all(template, environment)
  return [
    ...dependencies
      .filter(({ needs }) => !known.includes(needs))
      .map((dependency) => new UnknownComponent({ ...dependency, known })),
    ...circles(known, dependencies)
  ]
}

/**
 * The graph of the components.
 *
 * **Errors**: UnknownComponent, DependencyCycle: the first of {@link problems}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const graph = (template: TemplateSpec, environment?: EnvironmentSpec): Result.Result<Graph, DependencyError> => {
  const [first] = problems(template, environment)
  if (first !== undefined) return Result.fail(first)
  const outgoing = byComponent(all(template, environment))
  const components = template.components.map(({ name }) => name)
  const needs = components.map((name) => {
    const named = new Set((outgoing.get(name) ?? []).map((dependency) => dependency.needs))
    return [name, [...named].sort()] as const
  })
  return Result.succeed({ components, needs: new Map(needs) })
}

/**
 * The needs as a record, as `Provisioner.graphResult` takes them.
 *
 * @category getters
 * @since 0.1.0
 */
export const edges = ({ needs }: Graph): Readonly<Record<string, ReadonlyArray<string>>> => Object.fromEntries(needs)

/**
 * The components in steps: each needs only components of earlier steps. Teardown goes through them backwards.
 *
 * @category getters
 * @since 0.1.0
 */
export const order = ({ components, needs }: Graph): ReadonlyArray<ReadonlyArray<string>> => {
  const placed = new Map<string, number>()
  const place = (name: string): number => {
    const known = placed.get(name)
    if (known !== undefined) return known
    const made = Math.max(-1, ...(needs.get(name) ?? []).map(place)) + 1
    placed.set(name, made)
    return made
  }
  const steps: Array<Array<string>> = []
  for (const name of components) (steps[place(name)] ??= []).push(name)
  return steps
}
