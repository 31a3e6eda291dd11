/**
 * The workload of a shared component, where the operator runs it: a chart in the shared namespace, with credentials of its own.
 *
 * **Guarantees**
 * - S17: see `InstanceSecrets`. The chart is deployed after its credentials are backed up.
 * - S18: it is ready once the chart is deployed and its objects are rolled out.
 * - S25: what reads the instance's keys reaches the driver as `Redacted`.
 *
 * **Caveats**
 * - A provider that turns from a workload into an external instance leaves the chart where it is, for the shared components that have
 *   it: it goes with them.
 *
 * @since 0.1.0
 */
import type { Client } from "@berth/kube/Client"
import * as Application from "@berth/provisioners/Application"
import type * as CdDriver from "@berth/provisioners/CdDriver"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { Effect, Option, Result } from "effect"
import * as Deployer from "./Deployer.ts"
import type * as Instance from "./Instance.ts"
import * as InstanceSecrets from "./InstanceSecrets.ts"
import * as chart from "./internal/chart.ts"
import * as chartValues from "./internal/chartValues.ts"
import * as instanceSource from "./internal/instanceSource.ts"
import * as workloadRecord from "./internal/workloadRecord.ts"
import * as Names from "./Names.ts"
import * as Parameters from "./Parameters.ts"
import { Settings } from "./Settings.ts"
import type { SharedComponent } from "./SharedComponent.ts"
import type { SharedComponentProvider } from "./SharedComponentProvider.ts"
import * as Template from "./Template.ts"

type ProvisionError = Disposition.ProvisionError
type Workload = NonNullable<SharedComponentProvider["spec"]["workload"]>

/**
 * Why a workload is not deployed. For what its chart waits for see `Application.Reasons`, for its credentials `Instance.Reasons`.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `values_failed` | a template of the chart's values, or of the Service's name, that reads what is not there | looked at when the provider or the shared component changes | mend it |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("workload", {
  values_failed: Disposition.userActionRequired(
    "The workload cannot be rendered: see {place} of the provider {provider}, which reads what is not there or does not fit."
  )
})

/**
 * What deploying needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = CdDriver.CdDriver | Client | Settings

/**
 * Deploys the workload, if the provider has one, and succeeds once it runs. With `idle`, `suspendedValues` go over its values.
 *
 * **Errors**: {@link Reasons}, and those of `Instance`, of `Application` and of the driver.
 *
 * @category operations
 * @since 0.1.0
 */
export const deploy = Effect.fn("Workloads.deploy")(function* (
  shared: SharedComponent,
  provider: SharedComponentProvider,
  idle: boolean
): Effect.fn.Return<void, ProvisionError, Services> {
  const { instanceSecret, workload } = provider.spec
  const source = instanceSource.of(provider.spec, shared.metadata)
  if (workload === undefined || source === undefined) return
  const keys = instanceSecret?.keys ?? []
  const deployed = workloadRecord.of(shared)?.generated ?? []
  const reference = yield* referenceTo(source.secretRef.name)
  const instance = yield* InstanceSecrets.ensure(shared, { reference, keys, deployed })
  const generated = keys.flatMap(({ generate, name }) => (generate === undefined ? [] : [name]))
  yield* workloadRecord.write(shared, {
    generated: [...new Set([...deployed, ...generated])].toSorted(),
    secret: reference.secret,
    clusterScoped: workload.clusterScoped
  })
  const context = contextOf(shared, provider, instance)
  const rendered = yield* classified(provider, values(workload, context, idle))
  const address = yield* classified(provider, addressOf(workload, context, reference.namespace))
  yield* InstanceSecrets.add(shared, reference, address)
  const from = chart.toDriver(workload)
  yield* application(shared, workload.clusterScoped, from, Effect.succeed(rendered)).provision
})

/**
 * Removes the workload and its credentials, if there ever was one. Neither the provider nor the chart is asked.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = Effect.fn("Workloads.remove")(function* (
  shared: SharedComponent
): Effect.fn.Return<void, ProvisionError, Services> {
  const record = workloadRecord.of(shared)
  if (record === undefined) return
  yield* application(shared, record.clusterScoped, chart.notAsked, Effect.succeed({})).deprovision
  const secret = Identifier.fromString(record.secret)
  if (Option.isSome(secret)) yield* InstanceSecrets.remove(shared, yield* referenceTo(secret.value))
})

const referenceTo = (secret: Identifier.Identifier): Effect.Effect<Instance.Reference, never, Settings> =>
  Effect.map(Settings, ({ sharedNamespace }) => ({ secret, namespace: Identifier.Identifier.make(sharedNamespace) }))

const contextOf = (
  { metadata, spec }: SharedComponent,
  provider: SharedComponentProvider,
  instance: Instance.Values
): Template.Context => ({
  SharedComponent: { Name: metadata.name, Slug: Names.slug(metadata.name) },
  Parameters: Result.getOrElse(Parameters.check(provider.spec.parameters, spec.parameters), () => spec.parameters),
  Instance: instance
})

const values = (
  { suspendedValues, values: own }: Workload,
  context: Template.Context,
  idle: boolean
): Result.Result<CdDriver.Values, Template.TemplateError> => {
  const scene = { context, secret: "Instance" }
  const whole = chartValues.render(scene, "spec.workload.values", own ?? {})
  return idle ? chartValues.suspended(scene, "spec.workload.suspendedValues", whole, suspendedValues) : whole
}

/** As every Pod of the cluster can look it up. */
const addressOf = (
  { service }: Workload,
  context: Template.Context,
  namespace: string
): Result.Result<Instance.Values, Template.TemplateError> => {
  if (service === undefined) return Result.succeed({})
  const name = Result.flatMap(Template.parse(service.name, { name: "spec.workload.service.name" }), (template) =>
    Template.render(template, context)
  )
  const { host, port } = instanceSource.addressKeys
  return Result.map(name, (text) => ({ [host]: `${text}.${namespace}.svc`, [port]: String(service.port) }))
}

const unplaced = Identifier.of("spec.workload")

const classified = <A>({ metadata }: SharedComponentProvider, result: Result.Result<A, Template.TemplateError>) =>
  Effect.mapError(Effect.fromResult(result), (error) => {
    const place = Option.getOrElse(Identifier.fromString(Template.at(error)), () => unplaced)
    return Reasons.values_failed({ place, provider: metadata.name }, { why: error.message })
  })

const application = (
  shared: SharedComponent,
  clusterScoped: boolean,
  from: Application.Given<SharedComponent, CdDriver.Chart, Settings>,
  rendered: Effect.Effect<CdDriver.Values>
) =>
  Application.make("workload", {
    owner: shared,
    chart: from,
    release: () =>
      Effect.map(Settings, ({ sharedNamespace: namespace }) => ({
        name: Names.release(shared.metadata.name),
        namespace
      })),
    account: () => Deployer.accountOf({ clusterScoped }),
    values: () => rendered
  })
