/** What an environment is to be, once everything that can be checked beforehand is in order. */
import type { Client } from "@berth/kube/Client"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option, Result } from "effect"
import * as Dependencies from "../../Dependencies.ts"
import { Environment } from "../../Environment.ts"
import { EnvironmentTemplate } from "../../EnvironmentTemplate.ts"
import * as Names from "../../Names.ts"
import { Records } from "../../Records.ts"
import type { Want } from "../../Reservations.ts"
import { Settings } from "../../Settings.ts"
import { SharedComponent } from "../../SharedComponent.ts"
import * as TemplateCheck from "../../TemplateCheck.ts"
import type { Problem } from "../problem.ts"
import * as sources from "../sources.ts"
import * as validity from "../validity.ts"
import * as world from "../world.ts"
import { Reasons } from "./reasons.ts"

type ProvisionError = Disposition.ProvisionError

export interface Blueprint {
  readonly template: EnvironmentTemplate["spec"]
  readonly graph: Dependencies.Graph
  /** The slices that are wanted. */
  readonly wants: ReadonlyArray<Want>
  readonly url: string | undefined
  /** What it was drawn from. */
  readonly seen: ReadonlyArray<Seen>
}

interface Seen {
  readonly type: ResourceType
  readonly name: Identifier.Identifier
  readonly uid: string
  readonly generation: number
}

interface Look {
  readonly template: EnvironmentTemplate
  readonly known: world.Known
  readonly ofTemplate: ReadonlyArray<Problem>
  readonly own: ReadonlyArray<Problem>
}

/** Where an environment is reached. */
export const urlOf = (name: string, { ingress }: Pick<EnvironmentTemplate["spec"], "ingress">): string | undefined =>
  ingress === undefined ? undefined : `https://${Names.slug(name)}.${ingress.domain}`

const look = Effect.fnUntraced(function* <E, R>(
  environment: Environment,
  template: EnvironmentTemplate,
  source: world.Source<E, R>
): Effect.fn.Return<Look, E, R> {
  const known = yield* world.load(template.spec, source)
  return {
    template,
    known,
    ofTemplate: TemplateCheck.environmentTemplate(template.spec, known),
    own: TemplateCheck.environment(environment.spec, template.spec, known)
  }
})

const isInOrder = ({ ofTemplate, own }: Look): boolean => ofTemplate.length === 0 && own.length === 0

/** From the caches, which is enough where all is in order. */
const fromCaches = Effect.fnUntraced(function* (environment: Environment) {
  const records = yield* Records
  const raw = yield* records.template(environment.spec.templateRef.name)
  if (Option.isNone(raw)) return undefined
  const template = yield* Effect.option(EnvironmentTemplate.decode(raw.value))
  return Option.isNone(template) ? undefined : yield* look(environment, template.value, yield* sources.cached)
})

/** Nobody is told of a problem before the API server was asked, and everything that was read may heal it. */
const fromTruth = Effect.fnUntraced(function* (
  environment: Environment
): Effect.fn.Return<Look, ProvisionError, Client | Settings> {
  const { managementNamespace: namespace } = yield* Settings
  const { name } = environment.spec.templateRef
  const raw = yield* Manager.input(EnvironmentTemplate, { name, namespace })
  if (Option.isNone(raw)) {
    yield* validity.publish(Environment, environment, [ofMissing(name)])
    return yield* Reasons.template_missing({ template: name })
  }
  const template = yield* Effect.mapError(EnvironmentTemplate.decode(raw.value), (error) =>
    Reasons.template_invalid(
      { template: name, place: Identifier.of("spec"), problem: Identifier.of("Unreadable") },
      { why: error.message }
    )
  )
  return yield* look(environment, template, yield* sources.truth)
})

const ofMissing = (name: string): Problem => ({
  reason: "MissingTemplate",
  where: "spec.templateRef.name",
  sentence: `there is no EnvironmentTemplate ${name}`
})

/** An environment is not valid with a template that is not: its own condition says so, and what is wrong there. */
const all = ({ ofTemplate, own, template }: Look): ReadonlyArray<Problem> => [
  ...own.filter(
    (mine) => !ofTemplate.some(({ sentence, where }) => mine.where === where && mine.sentence === sentence)
  ),
  ...ofTemplate.map((problem) => ({
    ...problem,
    where: `EnvironmentTemplate ${template.metadata.name} ${problem.where}`
  }))
]

const refuse = ({ ofTemplate, own, template }: Look): ProvisionError | undefined => {
  const { name } = template.metadata
  const [first] = ofTemplate
  const details = { why: validity.why([...ofTemplate, ...own]) }
  if (first !== undefined) return Reasons.template_invalid({ template: name, ...validity.named(first) }, details)
  const [mine] = own
  return mine && Reasons.environment_invalid({ template: name, ...validity.named(mine) }, details)
}

export const wantsOf = (template: EnvironmentTemplate["spec"], known: world.Known): ReadonlyArray<Want> =>
  template.components.flatMap(({ name, replaces, sharedComponentRef }) => {
    const shared = sharedComponentRef && known.identity(sharedComponentRef.name)
    return shared === undefined ? [] : [{ component: name, shared: { name: shared.name, uid: shared.uid }, replaces }]
  })

const seenOf = ({ known, template }: Look): ReadonlyArray<Seen> => {
  const names = template.spec.components.flatMap(({ sharedComponentRef }) => sharedComponentRef?.name ?? [])
  return [
    { type: EnvironmentTemplate, ...picked(template.metadata) },
    ...[...new Set(names)].flatMap((name) => {
      const shared = known.identity(name)
      return shared === undefined ? [] : [{ type: SharedComponent, ...picked(shared) }]
    })
  ]
}

const picked = ({ generation, name, uid }: EnvironmentTemplate["metadata"]) => ({ name, uid, generation })

/**
 * Makes what an environment was drawn from its inputs, where it is going to wait for somebody: a change of it may be what is waited
 * for. What has changed already since it was read is looked at again.
 */
export const declare = Effect.fnUntraced(function* (
  { seen }: Blueprint,
  failure: ProvisionError
): Effect.fn.Return<never, ProvisionError, Client | Settings> {
  if (!Disposition.isTerminal(failure)) return yield* failure
  const { managementNamespace: namespace } = yield* Settings
  for (const { generation, name, type, uid } of seen) {
    const now = yield* Manager.input(type, { name, namespace })
    const isSame = Option.exists(now, ({ metadata }) => metadata.uid === uid && metadata.generation === generation)
    if (!isSame) return yield* Disposition.join([failure, Reasons.outdated({ template: name }, { after: "1 second" })])
  }
  return yield* failure
})

/** The blueprint, or what keeps the environment from having one (S22, S23): before anything is deployed. */
export const draw = Effect.fn("Environments.draw")(function* (
  environment: Environment
): Effect.fn.Return<Blueprint, ProvisionError, Client | Records | Settings> {
  const first = yield* fromCaches(environment)
  const found = first !== undefined && isInOrder(first) ? first : yield* fromTruth(environment)
  yield* validity.publish(Environment, environment, all(found))
  const refused = refuse(found)
  if (refused !== undefined) return yield* refused
  const template = found.template.spec
  // The checks include everything that a graph can fail with.
  const graph = Result.getOrThrow(Dependencies.graph(template, environment.spec))
  return {
    template,
    graph,
    wants: wantsOf(template, found.known),
    url: urlOf(environment.metadata.name, template),
    seen: seenOf(found)
  }
})
