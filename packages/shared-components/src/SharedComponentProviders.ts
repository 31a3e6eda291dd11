/**
 * The controller of SharedComponentProviders: checks what they say, and keeps those that are used.
 *
 * **Guarantees**
 * - S23: every template of a provider is checked when it is written; all problems, with their places, are in the condition `Valid`.
 * - S6: a provider that shared components use is not deleted before they are.
 *
 * @since 0.1.0
 */
import type { Caches } from "@berth/kube/Caches"
import type { Client } from "@berth/kube/Client"
import type * as Controller from "@berth/kube/Controller"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as Watch from "@berth/kube/Watch"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect } from "effect"
import * as held from "./internal/held.ts"
import * as unsupported from "./internal/unsupported.ts"
import * as validity from "./internal/validity.ts"
import { Records } from "./Records.ts"
import { SharedComponentProvider } from "./SharedComponentProvider.ts"
import { Backends } from "./SliceBackend.ts"
import * as StallLabels from "./StallLabels.ts"
import * as TemplateCheck from "./TemplateCheck.ts"

/**
 * Why a provider is not Ready, or not gone.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `unsupported` | a field that this version does not serve | nothing | remove the field |
 * | `provider_invalid` | a template that reads what does not exist, or the like | nothing | mend what the condition `Valid` lists |
 * | `held_by_shared_components` | it is being deleted, and is used | looked at when one of them goes | delete them |
 * | `shared_components_not_removed` | the same, and these are being deleted and wait for somebody | looked at when that changes | see the SharedComponents |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("provider", {
  unsupported: Disposition.userActionRequired("This version of the operator does not serve {field}: remove it."),
  provider_invalid: Disposition.userActionRequired(
    "The provider is not in order, first at {place} ({problem}): mend what the condition Valid lists."
  ),
  held_by_shared_components: Disposition.yield("Kept until these shared components are gone: {sharedComponents}."),
  shared_components_not_removed: Disposition.userActionRequired(
    "Kept by shared components that cannot be removed: {sharedComponents}. See the conditions of each SharedComponent."
  )
})

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Caches | Client | Records

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.map(Records, (records) => {
  const { providers, sharedComponents } = records.definitions
  const users = (name: string) => records.sharedComponentsOfProvider(name)
  const used = ({ metadata, spec }: { readonly metadata: Ref; readonly spec: { readonly providerRef: Ref } }): Ref => ({
    name: spec.providerRef.name,
    namespace: metadata.namespace
  })
  return Manager.make({
    kind: SharedComponentProvider,
    definition: providers,
    watches: [
      Watch.mapped(sharedComponents, (shared) => [used(shared)], { when: ({ _tag }) => _tag === "Deleted" }),
      Watch.gathered(
        sharedComponents,
        ({ object, previous }) =>
          previous === undefined ||
          previous.spec.providerRef.name !== object.spec.providerRef.name ||
          isLeft(previous) !== isLeft(object)
            ? [object, ...(previous === undefined ? [] : [previous])].map(used)
            : [],
        "1 second"
      )
    ],
    provisioner: (provider) =>
      Provisioner.make("provider", { provision: check(provider), deprovision: release(provider.metadata.name) }),
    status: ({ metadata }) => Effect.map(users(metadata.name), (all) => ({ sharedComponents: all.length }))
  })
})

/** It is to go, and waits for somebody. */
const isLeft = (shared: KubeObject): boolean =>
  shared.metadata.deletionTimestamp !== undefined && StallLabels.isOn(shared)

const check = Effect.fnUntraced(function* (
  provider: SharedComponentProvider
): Effect.fn.Return<void, Disposition.ProvisionError, Client> {
  const missing = unsupported.ofProvider(provider.spec, yield* Backends)
  const problems = [...missing, ...TemplateCheck.provider(provider.spec)]
  yield* validity.publish(SharedComponentProvider, provider, problems)
  const [first] = problems
  if (first === undefined) return
  const details = { why: validity.why(problems) }
  return yield* first.reason === "Unsupported"
    ? Reasons.unsupported({ field: validity.place(first) }, details)
    : Reasons.provider_invalid(validity.named(first), details)
})

const release = Effect.fnUntraced(function* (
  name: string
): Effect.fn.Return<void, Disposition.ProvisionError, Records> {
  const users = yield* Effect.flatMap(Records, (records) => records.sharedComponentsOfProvider(name))
  const left = users.filter(isLeft)
  if (left.length > 0) return yield* Reasons.shared_components_not_removed({ sharedComponents: held.names(left) })
  if (users.length > 0) {
    return yield* Reasons.held_by_shared_components({ sharedComponents: held.names(users) }, held.wait)
  }
})
