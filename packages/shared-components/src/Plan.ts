/**
 * What would become of an environment, without doing anything: a dry run, for a review of a template or an environment.
 *
 * **Guarantees**
 * - S34: nothing is written, and no secret is read: a key of a slice is shown as `<component.KEY>`, one of a Secret as
 *   `<Secret name/key>`.
 *
 * **Caveats**
 * - It shows what is asked for, not whether there will be a place, or whether scripts succeed.
 *
 * @since 0.1.0
 */
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Option, Result } from "effect"
import * as ComponentVariables from "./ComponentVariables.ts"
import * as Dependencies from "./Dependencies.ts"
import { Environment } from "./Environment.ts"
import { type Component, EnvironmentTemplate } from "./EnvironmentTemplate.ts"
import * as contexts from "./internal/contexts.ts"
import * as blueprints from "./internal/environments/blueprint.ts"
import type { Problem } from "./internal/problem.ts"
import * as sources from "./internal/sources.ts"
import * as world from "./internal/world.ts"
import * as Names from "./Names.ts"
import { consumerOf, phaseOf, type RawSlice } from "./Records.ts"
import * as Reservations from "./Reservations.ts"
import { Settings } from "./Settings.ts"
import { Slice } from "./Slice.ts"
import * as Template from "./Template.ts"
import * as TemplateCheck from "./TemplateCheck.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * What is asked about.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** Of the environment, whether it exists or not. */
  readonly name: string
  readonly spec: Environment["spec"]
  /** Instead of the template that the environment names: one that is not there yet, or is to change. */
  readonly template?: EnvironmentTemplate["spec"] | undefined
}

/**
 * One thing that would be done. `refuse`: nothing would be, before this is mended.
 *
 * @category models
 * @since 0.1.0
 */
export interface Step {
  readonly action: "refuse" | "create" | "keep" | "remove" | "write"
  /** What it would be done to. */
  readonly object: string
  readonly details: ReadonlyArray<string>
}

/**
 * What would be done, in order.
 *
 * **Errors**: what a failed request means, of `KubeFailure`.
 *
 * @category operations
 * @since 0.1.0
 */
export const environment = Effect.fn("Plan.environment")(function* (
  request: Request
): Effect.fn.Return<ReadonlyArray<Step>, ProvisionError, Client | Settings> {
  const { name, spec } = request
  const template = request.template ?? (yield* templateOf(spec.templateRef.name))
  if (template === undefined) {
    return [{ action: "refuse", object: `EnvironmentTemplate ${spec.templateRef.name}`, details: ["does not exist"] }]
  }
  const known = yield* world.load(template, yield* sources.truth)
  const problems = [
    ...TemplateCheck.environmentTemplate(template, known),
    ...TemplateCheck.environment(spec, template, known)
  ]
  if (problems.length > 0) return problems.map(refused)
  const records = yield* recordsOf(name)
  const slices = slicesOf(blueprints.wantsOf(template, known), records, known)
  if (slices.some(({ action }) => action === "refuse")) return slices
  return [...slices, ...secrets(name, spec, template, known)]
})

/**
 * Steps as lines of text, for people.
 *
 * @category conversions
 * @since 0.1.0
 */
export const lines = (steps: ReadonlyArray<Step>): ReadonlyArray<string> =>
  steps.flatMap(({ action, details, object }) => [`${action} ${object}`, ...details.map((detail) => `  ${detail}`)])

const refused = ({ sentence, where }: Problem): Step => ({ action: "refuse", object: where, details: [sentence] })

const templateOf = Effect.fnUntraced(function* (name: string) {
  const { managementNamespace: namespace } = yield* Settings
  const found = yield* KubeFailure.orNone(Client.use((client) => client.get(EnvironmentTemplate, { name, namespace })))
  if (Option.isNone(found)) return undefined
  return (yield* Effect.orDie(EnvironmentTemplate.decode(found.value))).spec
})

/** Those of the environment of this name, as it is now. */
const recordsOf = Effect.fnUntraced(function* (name: string) {
  const { managementNamespace: namespace } = yield* Settings
  const found = yield* KubeFailure.orNone(Client.use((client) => client.get(Environment, { name, namespace })))
  if (Option.isNone(found)) return []
  const { items } = yield* KubeFailure.classified(Client.use((client) => client.list(Slice, { namespace })))
  return items.filter((each) => consumerOf(each).uid === found.value.metadata.uid && Reservations.isKept(each))
})

const slicesOf = (
  wants: ReadonlyArray<Reservations.Want>,
  records: ReadonlyArray<RawSlice>,
  known: world.Known
): ReadonlyArray<Step> => {
  const wanted = Reservations.inOrder(wants).map((want): Step => {
    const { component, shared } = want
    const record = Reservations.recordOf(records, want)
    if (record !== undefined) {
      return {
        action: "keep",
        object: `Slice ${record.metadata.name}`,
        details: [`for ${component}: ${phaseOf(record)}`]
      }
    }
    const former = Reservations.formerOf(records, wants, want)
    if (former !== undefined) {
      const details = [`it is of ${consumerOf(former).component}: name that again, or let ${component} replace it`]
      return { action: "refuse", object: `Slice ${former.metadata.name}`, details }
    }
    const places = known.sharedComponent(shared.name)?.maxConsumers ?? 0
    const details = [`for ${component}, of ${places === 0 ? "any number" : places}`]
    return { action: "create", object: `Slice of ${shared.name}`, details }
  })
  const left = records.filter((record) => wants.every((want) => Reservations.recordOf(records, want) !== record))
  const isRefused = wanted.some(({ action }) => action === "refuse")
  return isRefused ? wanted.filter(({ action }) => action === "refuse") : [...wanted, ...left.map(removed)]
}

const removed = (record: RawSlice): Step => ({
  action: "remove",
  object: `Slice ${record.metadata.name}`,
  details: [`of ${consumerOf(record).component}, with everything that is in it`]
})

type Texts = Readonly<Record<string, string>>

const secrets = (
  name: string,
  spec: Environment["spec"],
  template: EnvironmentTemplate["spec"],
  known: world.Known
): ReadonlyArray<Step> => {
  const offers = new Map<string, Texts>()
  const scene = {
    environment: { metadata: { name }, spec },
    namespace: `env-${Names.slug(name)}-<id>`,
    offers,
    url: blueprints.urlOf(name, template)
  }
  // The checks include everything that an order can fail with.
  const order = Dependencies.order(Result.getOrThrow(Dependencies.graph(template, spec))).flat()
  return order.flatMap((each) => {
    const index = template.components.findIndex((component) => component.name === each)
    const component = template.components[index]
    return component === undefined ? [] : ofComponent(scene, component, index, known)
  })
}

const ofComponent = (
  scene: Parameters<typeof ComponentVariables.context>[0] & { readonly offers: Map<string, Texts> },
  component: Component,
  index: number,
  known: world.Known
): ReadonlyArray<Step> => {
  const shared = component.sharedComponentRef && known.sharedComponent(component.sharedComponentRef.name)
  const provider = shared && known.provider(shared.providerRef.name)
  const keys = provider === undefined ? [] : contexts.bindingKeys(provider).toSorted()
  const steps: Array<Step> = []
  if (shared !== undefined) {
    scene.offers.set(component.name, Object.fromEntries(keys.map((key) => [key, `<${component.name}.${key}>`])))
    steps.push({ action: "write", object: `Secret ${Names.binding(component.name)}`, details: [keys.join(", ")] })
  }
  const given = scene.environment.spec.env[component.name] ?? {}
  const own = Object.entries(component.env).filter(([variable]) => !Object.hasOwn(given, variable))
  const rendered = Template.renderRecord(Object.fromEntries(own), ComponentVariables.context(scene, component), {
    name: `spec.components[${index}].env`
  })
  if (Result.isFailure(rendered)) {
    return [{ action: "refuse", object: Template.at(rendered.failure), details: [rendered.failure.sentence] }]
  }
  const values = { ...rendered.success, ...masked(given) }
  if (shared === undefined) scene.offers.set(component.name, values)
  const details = Object.entries(values)
    .map(([variable, text]) => `${variable}=${text}`)
    .toSorted()
  return details.length === 0
    ? steps
    : [...steps, { action: "write", object: `Secret ${Names.componentEnv(component.name)}`, details }]
}

const masked = (given: Environment["spec"]["env"][string]): Texts =>
  Object.fromEntries(
    Object.entries(given).map(([variable, { secretKeyRef, sliceKeyRef, value }]) => {
      if (secretKeyRef !== undefined) return [variable, `<Secret ${secretKeyRef.name}/${secretKeyRef.key}>`]
      return [variable, sliceKeyRef === undefined ? (value ?? "") : `<${sliceKeyRef.component}.${sliceKeyRef.key}>`]
    })
  )
