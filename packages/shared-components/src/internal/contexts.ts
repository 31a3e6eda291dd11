/** What the templates of each place may read. */
import type { EnvironmentTemplate } from "../EnvironmentTemplate.ts"
import * as Parameters from "../Parameters.ts"
import * as databaseKeys from "./databaseKeys.ts"
import type { SharedComponent } from "../SharedComponent.ts"
import type { SharedComponentProvider } from "../SharedComponentProvider.ts"
import { anything, map, type Shape, texts, unknownTexts, value } from "./shape.ts"

type Provider = SharedComponentProvider["spec"]
type TemplateSpec = EnvironmentTemplate["spec"]

/** The objects that a template refers to, as far as they exist. */
export interface World {
  readonly sharedComponent: (name: string) => SharedComponent["spec"] | undefined
  readonly provider: (name: string) => Provider | undefined
}

/** The keys of a slice's binding, as far as anybody can say before it is made. */
export const bindingKeys = ({ binding, databaseProvider, outputs }: Provider): ReadonlyArray<string> => [
  ...new Set([...Object.keys(binding), ...(databaseProvider === undefined ? outputs : databaseKeys.ofBinding)])
]

/** Those of a custom backend are its own. */
const bindingShape = (provider: Provider | undefined): Shape =>
  provider === undefined || provider.custom !== undefined ? unknownTexts : texts(bindingKeys(provider))

/** What a component offers others: its binding where it is a slice, otherwise its variables. */
export const componentKeys = (component: TemplateSpec["components"][number], world: World): Shape => {
  if (component.sharedComponentRef === undefined) return texts(Object.keys(component.env))
  const shared = world.sharedComponent(component.sharedComponentRef.name)
  return bindingShape(shared === undefined ? undefined : world.provider(shared.providerRef.name))
}

/** The values and variables of a component. */
export const component = (template: TemplateSpec, world: World): Shape =>
  map([
    ["Env", texts(["Name", "Slug", "Namespace", ...(template.ingress === undefined ? [] : ["Url"])])],
    ["Source", texts(["Repo", "Branch", "Sha"])],
    ["Values", anything],
    ["Components", map(template.components.map((each) => [each.name, componentKeys(each, world)] as const))]
  ])

const instance = ({ external, instanceSecret }: Provider): Shape => {
  if (external !== undefined) return external.keys.length === 0 ? unknownTexts : texts(external.keys)
  return instanceSecret === undefined ? texts([]) : texts(instanceSecret.keys.map(({ name }) => name))
}

const shared = (provider: Provider): ReadonlyArray<readonly [string, Shape]> => [
  ["Parameters", Parameters.shape(provider.parameters)],
  ["Instance", instance(provider)]
]

/** The chart of a shared workload. */
export const chart = (provider: Provider): Shape =>
  map([["SharedComponent", texts(["Name", "Slug"])], ...shared(provider)])

/** Scripts that are about the instance as a whole. */
export const instanceScript = (provider: Provider): Shape => map([["Attempt", value], ...shared(provider)])

const ofSlice = (provider: Provider): ReadonlyArray<readonly [string, Shape]> => [
  ["Env", texts(["Name", "Slug", "GeneratedSecret"])],
  ["Slice", texts(["Id"])],
  ["Attempt", value],
  ...shared(provider)
]

/** Scripts that are about one slice. */
export const sliceScript = (provider: Provider): Shape => map(ofSlice(provider))

/** A backend says itself what its slices are reached by, and no script has a secret of theirs. */
const ofBackend = (provider: Provider): Shape =>
  map([
    ["Env", texts(["Name", "Slug"])],
    ["Slice", texts(["Id"])],
    ["Parameters", Parameters.shape(provider.parameters)],
    ["Outputs", provider.databaseProvider === undefined ? unknownTexts : texts(databaseKeys.outputs)],
    ["Host", value],
    ["Port", value],
    ...(provider.custom === undefined ? [] : [["Instance", unknownTexts] as const])
  ])

export const binding = (provider: Provider): Shape => {
  if (provider.databaseProvider !== undefined || provider.custom !== undefined) return ofBackend(provider)
  const { external, outputs, workload } = provider
  const declares = (key: string | undefined): boolean =>
    external === undefined
      ? workload?.service !== undefined
      : external.keys.length === 0 || (key !== undefined && external.keys.includes(key))
  return map([
    ...ofSlice(provider),
    ["Outputs", texts(outputs)],
    ...(declares(external?.hostKey) ? [["Host", value] as const] : []),
    ...(declares(external?.portKey) ? [["Port", value] as const] : [])
  ])
}
