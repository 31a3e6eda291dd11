/**
 * The controller of Environments: from a template to a namespace with slices and components in it, and back to nothing.
 *
 * **Guarantees**
 * - S2: see `Reservations`.
 * - S5, S22: see `EnvironmentTree`.
 * - S12: an environment's Secrets are written, restored and never read.
 * - S13: an environment that is made again under its old name is another one: its namespace and its slices are new.
 * - S26: an environment is Failed once a component has taken longer than `deployTimeout`, and says which and why.
 * - S23: nothing is deployed from a template that is not in order.
 *
 * @since 0.1.0
 */
import type { Caches } from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import * as Conditions from "@berth/kube/Conditions"
import type * as Controller from "@berth/kube/Controller"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import * as Watch from "@berth/kube/Watch"
import * as Manager from "@berth/provisioners/Manager"
import { Effect } from "effect"
import { Environment } from "./Environment.ts"
import * as EnvironmentTree from "./EnvironmentTree.ts"
import { Reasons as reasons } from "./internal/environments/reasons.ts"
import * as statuses from "./internal/environments/status.ts"
import { consumerOf, environmentUidLabel, type RawSlice, Records } from "./Records.ts"
import * as Reservations from "./Reservations.ts"

/**
 * Why an environment is not Ready, or not gone. For the charts of its components see `Application.Reasons` and
 * `CdDriver.Reasons`, for its target `RemoteCluster.Reasons`.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `template_missing`, `template_invalid` | there is no template that could be deployed | looked at when it, or what it refers to, changes | mend it |
 * | `environment_invalid` | names, values or keys that do not fit the template | looked at when either changes | mend what the condition `Valid` lists |
 * | `registering`, `waiting_for_place` | a place is asked for; `position` says how many are before | looked at when the line moves | wait, or raise `maxConsumers` |
 * | `shared_component_not_ready` | the shared component is not Ready | looked at when the slice's record changes | nothing |
 * | `shared_component_stalled` | the shared component waits for somebody | looked at when it does not any more | mend what its conditions name |
 * | `shared_component_closing` | the shared component is being deleted | looked at when it is gone | choose another one, or create it again |
 * | `suspended` | suspended while it waited | nothing | end the suspension |
 * | `previous_slice` | the slice that the component had is still being removed | looked at when it is gone | nothing |
 * | `previous_slice_stalled` | the same, and that slice waits for somebody | looked at when it does not any more | see the Slice |
 * | `slice_renamed` | a component left the template, another one wants a slice of the same shared component | looked at when the template changes | rename it back, or list it in `replaces` |
 * | `slice_paused` | somebody has paused the slice before it was there | looked at when its record changes | end the pause |
 * | `provisioning_slice`, `binding_missing` | a slice is being made | looked at when its record changes | nothing |
 * | `slice_stalled` | a slice waits for somebody | looked at when it does not any more | see the Slice |
 * | `secret_missing`, `secret_not_allowed`, `secret_key_missing` | a `secretKeyRef` that gives nothing | looked at when the Secret changes | create, label or complete the Secret |
 * | `slice_key_missing`, `variables_failed` | a key that a binding or value does not have | nothing | correct the environment or its template |
 * | `values_failed` | the same of a chart's values | nothing | correct the environment or its template |
 * | `not_answering` | the component's chart runs, its readiness URL does not answer | asked again in seconds | see to the component if it lasts |
 * | `readiness_invalid` | a readiness URL that is none | nothing | correct the environment or its template |
 * | `deploy_timeout` | a component took longer than `deployTimeout`; the phase is Failed | tried again | see to what the component's own reason names |
 * | `target_not_allowed` | the target's kubeconfig is in a Secret that is not for environments | looked at when the Secret changes | label it, or name another one |
 * | `outdated` | what was judged is not the newest any more | looked at at once | nothing |
 * | `force_refused` | `berth.dev/force-cleanup` has another value than the environment's UID | the teardown goes on | correct the annotation |
 * | `releasing_slices` | it is being deleted, and slices are being removed | looked at when one is gone | nothing |
 * | `slices_not_removed` | the same, and these wait for somebody | tried again | see the Slices |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = reasons

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = EnvironmentTree.Services | Caches

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.map(Records, (records) => {
  const { componentSecrets, environments, managementSecrets, namespaces } = records.definitions
  const { providers, sharedComponents, slices, templates } = records.definitions
  const arrive = Reservations.arrivals()
  const desired = { when: Watch.desired }
  return Manager.make({
    kind: Environment,
    definition: environments,
    inputs: [templates, sharedComponents, providers, managementSecrets],
    watches: [
      Watch.mappedEffect(templates, ({ metadata }) => ofTemplate(records, metadata.name), desired),
      Watch.mappedEffect(sharedComponents, ({ metadata }) => ofShared(records, metadata.name), desired),
      Watch.mappedEffect(providers, ({ metadata }) => ofProvider(records, metadata.name), desired),
      Watch.mapped(slices, (slice) => [consumerRef(slice)], { when: matters }),
      Watch.mappedEffect(namespaces, (namespace) => byUid(records, namespace)),
      Watch.mappedEffect(componentSecrets, (secret) => byUid(records, secret))
    ],
    provisioner: (environment) =>
      environment.metadata.deletionTimestamp === undefined
        ? EnvironmentTree.make(environment, arrive)
        : EnvironmentTree.teardown(environment),
    status: (environment, outcome) => statuses.make(environment, outcome, EnvironmentTree.componentsPath)
  })
})

const refs = (objects: ReadonlyArray<KubeObject>): ReadonlyArray<Ref> => objects.map(KubeObjects.ref)

const ofTemplate = (records: Records["Service"], name: string) => Effect.map(records.environmentsOfTemplate(name), refs)

const ofShared = Effect.fnUntraced(function* (records: Records["Service"], name: string) {
  const users = yield* records.templatesOfSharedComponent(name)
  return (yield* Effect.forEach(users, ({ metadata }) => ofTemplate(records, metadata.name))).flat()
})

const ofProvider = Effect.fnUntraced(function* (records: Records["Service"], name: string) {
  const users = yield* records.sharedComponentsOfProvider(name)
  return (yield* Effect.forEach(users, ({ metadata }) => ofShared(records, metadata.name))).flat()
})

const byUid = (records: Records["Service"], { metadata }: KubeObject) =>
  Effect.map(records.environmentsByUid(metadata.labels?.[environmentUidLabel] ?? ""), refs)

const consumerRef = (slice: RawSlice): Ref => ({
  name: consumerOf(slice).name,
  namespace: slice.metadata.namespace
})

/** What the environment's own status shows of a record, or acts upon. */
const matters = (change: Change<RawSlice>): boolean => {
  const { object, previous } = change
  if (change._tag !== "Modified" || previous === undefined || Watch.desired(change)) return true
  const [now, before] = [object.status, previous.status]
  return (
    now?.phase !== before?.phase ||
    ["Ready", "Stalled"].some((type) => words(now?.conditions, type) !== words(before?.conditions, type))
  )
}

type Listed = NonNullable<RawSlice["status"]>["conditions"]

const words = (conditions: Listed, type: string): string | undefined => {
  const found = Conditions.get(conditions, type)
  return found && `${found.status} ${found.reason} ${found.message}`
}
