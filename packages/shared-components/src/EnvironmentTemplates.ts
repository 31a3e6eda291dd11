/**
 * The controller of EnvironmentTemplates: checks what they say against what exists, and keeps those that are used.
 *
 * **Guarantees**
 * - S22, S23: a template is checked when it is written, and again when a shared component or provider that it refers to is; all
 *   problems, with their places, are in the condition `Valid`.
 * - S6: a template that environments use is not deleted before they are.
 *
 * @since 0.1.0
 */
import type { Caches } from "@berth/kube/Caches"
import type { Client } from "@berth/kube/Client"
import type * as Controller from "@berth/kube/Controller"
import type * as Kind from "@berth/kube/Kind"
import type { Ref } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import * as Watch from "@berth/kube/Watch"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect } from "effect"
import type { Environment } from "./Environment.ts"
import { EnvironmentTemplate } from "./EnvironmentTemplate.ts"
import * as held from "./internal/held.ts"
import * as sources from "./internal/sources.ts"
import * as validity from "./internal/validity.ts"
import * as world from "./internal/world.ts"
import { Records } from "./Records.ts"
import type { Settings } from "./Settings.ts"
import * as TemplateCheck from "./TemplateCheck.ts"

/**
 * Why a template is not Ready, or not gone.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `template_invalid` | a name, key or circle that cannot be | checked again when what it refers to changes | mend what the condition `Valid` lists |
 * | `held_by_environments` | it is being deleted, and is used | looked at when one of them goes | delete them |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("template", {
  template_invalid: Disposition.userActionRequired(
    "The template is not in order, first at {place} ({problem}): mend what the condition Valid lists."
  ),
  held_by_environments: Disposition.yield("Kept until these environments are gone: {environments}.")
})

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Caches | Client | Records | Settings

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.map(Records, (records) => {
  const { environments, providers, sharedComponents, templates } = records.definitions
  return Manager.make({
    kind: EnvironmentTemplate,
    definition: templates,
    inputs: [sharedComponents, providers],
    watches: [
      Watch.mappedEffect(sharedComponents, ({ metadata }) => ofShared(records, metadata.name), { when: Watch.desired }),
      Watch.mappedEffect(providers, ({ metadata }) => ofProvider(records, metadata.name), { when: Watch.desired }),
      Watch.mapped(environments, (environment) => [templateOf(environment)], {
        when: ({ _tag }) => _tag === "Deleted"
      }),
      Watch.gathered(
        environments,
        ({ object, previous }) =>
          previous?.spec.templateRef.name === object.spec.templateRef.name
            ? []
            : [object, ...(previous === undefined ? [] : [previous])].map(templateOf),
        "1 second"
      )
    ],
    provisioner: (template) =>
      Provisioner.make("template", { provision: check(template), deprovision: release(template.metadata.name) }),
    status: ({ metadata }) =>
      Effect.map(records.environmentsOfTemplate(metadata.name), (all) => ({ environments: all.length }))
  })
})

const templateOf = ({ metadata, spec }: Kind.Raw<typeof Environment>): Ref => ({
  name: spec.templateRef.name,
  namespace: metadata.namespace
})

const ofShared = (records: Records["Service"], name: string) =>
  Effect.map(records.templatesOfSharedComponent(name), (all) => all.map(KubeObjects.ref))

const ofProvider = Effect.fnUntraced(function* (records: Records["Service"], name: string) {
  const users = yield* records.sharedComponentsOfProvider(name)
  return (yield* Effect.forEach(users, ({ metadata }) => ofShared(records, metadata.name))).flat()
})

const check = Effect.fnUntraced(function* (
  template: EnvironmentTemplate
): Effect.fn.Return<void, Disposition.ProvisionError, Client | Records | Settings> {
  const known = yield* world.load(template.spec, yield* sources.cached)
  const found = TemplateCheck.environmentTemplate(template.spec, known)
  // Asked of the API server before anybody is told: what was just written may not be in the caches yet.
  const problems =
    found.length === 0
      ? found
      : TemplateCheck.environmentTemplate(template.spec, yield* world.load(template.spec, yield* sources.truth))
  yield* validity.publish(EnvironmentTemplate, template, problems)
  const [first] = problems
  if (first === undefined) return
  return yield* Reasons.template_invalid(validity.named(first), { why: validity.why(problems) })
})

const release = Effect.fnUntraced(function* (
  name: string
): Effect.fn.Return<void, Disposition.ProvisionError, Records> {
  const users = yield* Effect.flatMap(Records, (records) => records.environmentsOfTemplate(name))
  if (users.length > 0) return yield* Reasons.held_by_environments({ environments: held.names(users) }, held.wait)
})
