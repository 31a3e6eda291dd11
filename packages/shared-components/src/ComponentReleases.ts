/**
 * The charts of an environment's components: deployed by whatever CD driver the program has, and removed again.
 *
 * **Guarantees**
 * - S24: values stay structured. A template gives a text, in the place that the template had.
 * - S25: what reads another component's keys may be secret: it reaches the driver as `Redacted`.
 * - S27: while the environment is suspended `suspendedValues` go over everything else.
 * - S28: which releases there are is in a record that is written first. What left the template is removed by it, and everything when
 *   the environment goes: first what needs others, then what they needed.
 * - S32: a chart is deployed, looked at and removed with the rights of `Deployer`, unless its component says `clusterScoped`.
 *
 * **Caveats**
 * - The environment's `values` go over those of the template. A component that is `clusterScoped` has them only where its own values
 *   read them: whoever writes an environment has no say in what is done with the operator's rights, but for that.
 *
 * @since 0.1.0
 */
import type { Client } from "@berth/kube/Client"
import * as Application from "@berth/provisioners/Application"
import type * as CdDriver from "@berth/provisioners/CdDriver"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Provisioner from "@berth/provisioners/Provisioner"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import { Effect, Option, Result } from "effect"
import * as ComponentVariables from "./ComponentVariables.ts"
import * as Dependencies from "./Dependencies.ts"
import * as Deployer from "./Deployer.ts"
import type { Environment } from "./Environment.ts"
import type { Component, EnvironmentTemplate } from "./EnvironmentTemplate.ts"
import * as chart from "./internal/chart.ts"
import * as chartValues from "./internal/chartValues.ts"
import { Reasons } from "./internal/environments/reasons.ts"
import * as record from "./internal/environments/releaseRecord.ts"
import * as Names from "./Names.ts"
import type { Records } from "./Records.ts"
import type { Settings } from "./Settings.ts"
import * as Template from "./Template.ts"

type ProvisionError = Disposition.ProvisionError
type Helm = NonNullable<Component["helm"]>
type Deployable = Component & { readonly helm: Helm }

/**
 * What deploying needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = CdDriver.CdDriver | Client | Records | Settings

/**
 * Whether the component has a chart.
 *
 * @category guards
 * @since 0.1.0
 */
export const has = (component: Component): component is Deployable => component.helm !== undefined

/**
 * Writes down which releases the environment is to have, before any of them is deployed.
 *
 * **Details**: gives back the components that have left the template and may still have a release.
 *
 * @category operations
 * @since 0.1.0
 */
export const declare = Effect.fn("ComponentReleases.declare")(function* (
  { metadata }: Environment,
  { components }: EnvironmentTemplate["spec"],
  graph: Dependencies.Graph
): Effect.fn.Return<ReadonlyArray<Leftover>, ProvisionError, Services> {
  const wanted = components.filter(has)
  if (wanted.length === 0 && !(yield* record.isKnown(metadata))) return []
  const entries = wanted.map(({ helm, name }) => ({
    component: name,
    needs: graph.needs.get(name) ?? [],
    clusterScoped: helm.clusterScoped
  }))
  const all = yield* record.declare(metadata, entries)
  return all.filter(({ component }) => wanted.every(({ name }) => name !== component))
})

/**
 * A component that may have a release, as its record says.
 *
 * @category models
 * @since 0.1.0
 */
export interface Leftover extends record.Entry {}

/**
 * The values of a component's chart: the template's, the environment's over them, and while it is suspended `suspendedValues` over
 * both.
 *
 * **Errors**: those of templates, with the place.
 *
 * @category getters
 * @since 0.1.0
 */
export const values = (
  scene: ComponentVariables.Scene,
  component: Component & { readonly helm: Helm },
  index: number
): Result.Result<CdDriver.Values, Template.TemplateError> => {
  const { helm, name } = component
  const { suspend, values: given } = scene.environment.spec
  const reading = { context: ComponentVariables.context(scene, component), secret: "Components" }
  const where = `spec.components[${index}].helm`
  const own = chartValues.render(reading, `${where}.values`, helm.values ?? {})
  const whole = helm.clusterScoped
    ? own
    : Result.map(own, (under) => chartValues.merged(under, chartValues.literal(given[name] ?? {})))
  return suspend ? chartValues.suspended(reading, `${where}.suspendedValues`, whole, helm.suspendedValues) : whole
}

/**
 * Deploys the component's chart, and succeeds once it runs.
 *
 * **Errors**: `values_failed` of `Environments.Reasons`, and those of `Application` and of the driver.
 *
 * @category operations
 * @since 0.1.0
 */
export const deploy = (
  place: ComponentVariables.Place,
  component: Component & { readonly helm: Helm },
  index: number
): Effect.Effect<void, ProvisionError, Services> => {
  const rendered = Effect.mapError(Effect.fromResult(values(place, component, index)), (error) => {
    const at = Option.getOrElse(Identifier.fromString(Template.at(error)), () => component.name)
    return Reasons.values_failed({ component: component.name, place: at }, { why: error.message })
  })
  const entry = { component: component.name, clusterScoped: component.helm.clusterScoped }
  return application(place.environment, entry, chart.toDriver(component.helm), rendered).provision
}

const application = (
  environment: Environment,
  { clusterScoped, component }: Pick<Leftover, "clusterScoped" | "component">,
  from: Application.Given<Environment, CdDriver.Chart, Settings>,
  rendered: Effect.Effect<CdDriver.Values, ProvisionError, Settings>
) =>
  Application.make(component, {
    owner: environment,
    chart: from,
    release: { name: Names.release(component), namespace: Names.namespace(environment.metadata) },
    account: () => Deployer.accountOf({ clusterScoped }),
    values: () => rendered
  })

const leftover = (environment: Environment, entry: Leftover): Provisioner.Provisioner<Services> => {
  const { deprovision } = application(environment, entry, chart.notAsked, Effect.succeed({}))
  return Provisioner.make(entry.component, {
    provision: Effect.void,
    deprovision: Effect.andThen(deprovision, RemoteCluster.home(record.forget(environment.metadata, entry.component)))
  })
}

/**
 * Removes these, what needs others first.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = (
  environment: Environment,
  entries: ReadonlyArray<Leftover>
): Effect.Effect<void, ProvisionError, Services> => {
  const names = new Set<string>(entries.map(({ component }) => component))
  const edges = entries.map(
    ({ component, needs }) => [component, needs.filter((each) => names.has(each) && each !== component)] as const
  )
  const children = entries.map((entry) => leftover(environment, entry))
  const ordered = Provisioner.graphResult("releases", children, Object.fromEntries(edges))
  // Only a record that somebody has edited can go in circles.
  return Result.getOrElse(ordered, () => Provisioner.concurrent("releases", children)).deprovision
}

/**
 * Removes every release that the environment may have.
 *
 * @category operations
 * @since 0.1.0
 */
export const removeAll = (environment: Environment): Effect.Effect<void, ProvisionError, Services> =>
  Effect.flatMap(RemoteCluster.home(record.read(environment.metadata)), (entries) => remove(environment, entries))
