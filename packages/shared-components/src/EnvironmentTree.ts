/**
 * What is done for one environment: its namespace, its slices, its components; and how it is taken down.
 *
 * **Guarantees**
 * - S22: a component starts as soon as what it needs is ready, whatever the others wait for.
 * - S5: the labels on the namespace that say which slices it has are mended in each pass.
 * - S16: an environment that cannot be removed is let go by an annotation with its own UID; its records stay, and are Orphaned.
 * - S29: with a target, the namespace, the Secrets and the charts are on that cluster, and the slices are made here, where a namespace of
 *   the same name stays as their index.
 * - A teardown needs nothing but the records and the namespace: the template, the provider and the shared component may be gone.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { CdDriver } from "@berth/provisioners/CdDriver"
import * as Disposition from "@berth/provisioners/Disposition"
import type * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import * as ObjectProvisioner from "@berth/provisioners/ObjectProvisioner"
import type * as Progress from "@berth/provisioners/Progress"
import * as Provisioner from "@berth/provisioners/Provisioner"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import { Clock, Effect, Option, Result } from "effect"
import * as BindingCopy from "./BindingCopy.ts"
import * as ComponentReleases from "./ComponentReleases.ts"
import * as ComponentVariables from "./ComponentVariables.ts"
import * as ConsumerLabel from "./ConsumerLabel.ts"
import * as Dependencies from "./Dependencies.ts"
import { Environment } from "./Environment.ts"
import type { Component } from "./EnvironmentTemplate.ts"
import * as blueprints from "./internal/environments/blueprint.ts"
import * as lateness from "./internal/environments/lateness.ts"
import { Reasons } from "./internal/environments/reasons.ts"
import * as Events from "@berth/kube/Events"
import * as held from "./internal/held.ts"
import * as Names from "./Names.ts"
import * as Readiness from "./Readiness.ts"
import { consumerOf, environmentUidLabel, phaseOf, type RawSlice, Records } from "./Records.ts"
import * as Reservations from "./Reservations.ts"
import { Settings } from "./Settings.ts"
import { Slice } from "./Slice.ts"
import * as SliceSecrets from "./SliceSecrets.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * What the steps need.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = CdDriver | Client | Records | RemoteCluster.RemoteClusters | Settings

/**
 * The path, in an environment's progress, under which its components are.
 *
 * @category constants
 * @since 0.1.0
 */
export const componentsPath = "environment/deployment/components/"

/**
 * The tree of an environment that is to be there.
 *
 * **Errors**: what keeps it from being deployed at all, of `Environments.Reasons`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fn("EnvironmentTree.make")(function* (
  environment: Environment,
  arrive: Effect.Effect<string>
): Effect.fn.Return<Provisioner.Provisioner<Services>, ProvisionError, Services> {
  const blueprint = yield* blueprints.draw(environment)
  const namespace = Names.namespace(environment.metadata)
  const consumer = { ...consumerOfPass(environment), suspended: environment.spec.suspend }
  const clocks = lateness.clocks(environment, componentsPath)
  const work: Work = { blueprint, consumer, environment, namespace, offers: new Map(), clocks, late: [] }
  const components = Provisioner.graphResult(
    "components",
    blueprint.template.components.map((component, index) => deployed(work, component, index)),
    Dependencies.edges(blueprint.graph)
  )
  const left = yield* ComponentReleases.declare(environment, blueprint.template, blueprint.graph)
  const places = RemoteCluster.home(Reservations.reserve(consumer, blueprint.wants, arrive))
  const deployment = Provisioner.concurrent("deployment", [
    Provisioner.make("places", { provision: places, ...nothing }),
    Result.getOrThrow(components),
    Provisioner.make("leftovers", { provision: leftovers(work, left), ...nothing })
  ])
  return Provisioner.serial("environment", [
    namespaceOf(environment),
    Provisioner.make("index", { provision: index(environment), ...nothing }),
    yield* placed(
      environment,
      Provisioner.make("deployment", {
        provision: Effect.catch(Effect.andThen(there(environment).provision, deployment.provision), (failure) =>
          RemoteCluster.home(blueprints.declare(blueprint, lateness.failure(blueprint.template, work.late[0], failure)))
        ),
        deprovision: deployment.deprovision
      })
    )
  ])
})

/**
 * The annotation that lets an environment go before its slices and its namespace are gone: its value is the environment's own UID.
 * It does something only while the environment is being deleted.
 *
 * @category constants
 * @since 0.1.0
 */
export const forceAnnotation = "berth.dev/force-cleanup"

/**
 * The tree of an environment that is being deleted.
 *
 * @category constructors
 * @since 0.1.0
 */
export const teardown = (environment: Environment): Provisioner.Provisioner<Services> =>
  Provisioner.serial("environment", [
    isForced(environment) ? unwaited(environment) : waited(environment),
    Provisioner.make("slices", {
      provision: Effect.void,
      deprovision: Effect.mapError(releaseAll(environment), (failure) => refused(environment, failure))
    }),
    onTarget(
      environment,
      Provisioner.make("deployment", {
        provision: Effect.void,
        deprovision: Effect.gen(function* () {
          yield* isForced(environment) ? unremoved(environment) : ComponentReleases.removeAll(environment)
          yield* ComponentVariables.removeOthers(Names.namespace(environment.metadata), [])
          yield* there(environment).deprovision
        })
      })
    )
  ])

/** For a step that {@link teardown} does in another way. */
const nothing = { deprovision: Effect.void }

interface Work {
  readonly blueprint: blueprints.Blueprint
  readonly consumer: Reservations.Consumer
  readonly environment: Environment
  readonly namespace: string
  /** Filled by the components of this pass as they get ready. */
  readonly offers: Map<string, Readonly<Record<string, string>>>
  /** How far the components were in the pass before. */
  readonly clocks: ReadonlyMap<string, Progress.Entry>
  /** Filled by the components of this pass that have taken too long. */
  readonly late: Array<readonly [component: Identifier.Identifier, why: ProvisionError]>
}

const consumerOfPass = ({ metadata }: Environment) => ({
  name: metadata.name,
  uid: metadata.uid,
  namespace: Names.namespace(metadata)
})

// --- The namespace

const namespaceOf = ({ metadata }: Environment) =>
  ObjectProvisioner.make("namespace", {
    type: Builtin.Namespace,
    owner: metadata,
    object: {
      metadata: {
        name: Names.namespace(metadata),
        labels: { [environmentUidLabel]: metadata.uid, "berth.dev/environment": Names.labelValue(metadata.name) }
      }
    }
  })

/** On another cluster there is a namespace of the same name beside the one here, which says what the environment has. */
const there = (environment: Environment): Pick<Provisioner.Provisioner<Client>, "provision" | "deprovision"> =>
  environment.spec.target === undefined
    ? { provision: Effect.void, deprovision: Effect.void }
    : namespaceOf(environment)

type Deployment = Provisioner.Provisioner<Services, "deployment">

/** On the environment's cluster. What is made there is remembered by the place that this has in the tree. */
const onTarget = (environment: Environment, child: Deployment): Deployment => {
  const { target } = environment.spec
  if (target === undefined) return child
  const { context, kubeconfigSecretRef } = target
  const there = Effect.map(Settings, ({ managementNamespace: namespace }) =>
    RemoteCluster.on({ owner: environment, kubeconfig: { namespace, ...kubeconfigSecretRef, context } }, child)
  )
  return Provisioner.make("deployment", {
    provision: Effect.flatMap(there, ({ provision }) => provision),
    deprovision: Effect.flatMap(there, ({ deprovision }) => deprovision)
  })
}

/** The same, once whoever wrote the environment may use the cluster (S32). */
const placed = Effect.fnUntraced(function* (
  environment: Environment,
  child: Deployment
): Effect.fn.Return<Deployment, ProvisionError, Client | Settings> {
  const { target } = environment.spec
  if (target !== undefined) {
    const { managementNamespace: namespace } = yield* Settings
    const { name } = target.kubeconfigSecretRef
    const found = yield* Manager.input(Builtin.Secret, { name, namespace })
    const isAllowed = Option.exists(found, ComponentVariables.isForEnvironments)
    // One that is missing is named by who needs it.
    if (Option.isSome(found) && !isAllowed) return yield* Reasons.target_not_allowed({ secret: name })
  }
  return onTarget(environment, child)
})

const hasPlace = (record: RawSlice): boolean => ["Reserved", "Provisioning", "Bound"].includes(phaseOf(record))

/** While a slice is on its way in or out, its label is its admission's. */
const index = Effect.fnUntraced(function* ({
  metadata
}: Environment): Effect.fn.Return<void, ProvisionError, Services> {
  const records = yield* Records
  const name = Names.namespace(metadata)
  const present = Option.getOrUndefined(yield* records.namespace(name))?.metadata.labels ?? {}
  const slices = yield* records.slicesOfConsumer(metadata.uid)
  const moving = ConsumerLabel.labels(slices.filter((record) => !hasPlace(record)).map(({ spec }) => spec))
  const kept = Object.entries(present).filter(([key]) => moving[key] !== undefined)
  const wanted = {
    ...Object.fromEntries(kept),
    ...ConsumerLabel.labels(slices.filter(hasPlace).map(({ spec }) => spec))
  }
  yield* ConsumerLabel.write(name, ConsumerLabel.difference(present, wanted))
})

// --- The components

const withVariables = ({ blueprint, environment }: Work): ReadonlyArray<Component> =>
  blueprint.template.components.filter((component) => ComponentVariables.hasAny(environment, component))

/** Of components that are not in the template any more. */
const leftovers = (work: Work, left: ReadonlyArray<ComponentReleases.Leftover>) =>
  Effect.andThen(
    ComponentReleases.remove(work.environment, left),
    ComponentVariables.removeOthers(work.namespace, withVariables(work))
  )

const deployed = (work: Work, component: Component, at: number): Provisioner.Provisioner<Services> =>
  Provisioner.make(component.name, {
    provision: Effect.tapError(deploy(work, component, at), (failure) => judge(work, component, failure)),
    deprovision: Effect.void
  })

/** Whoever has failed for good says so by itself. */
const judge = Effect.fnUntraced(function* (
  { blueprint, clocks, late }: Work,
  { name }: Component,
  why: ProvisionError
) {
  if (Disposition.isTerminal(why) || lateness.waitingReasons.has(why.reason)) return
  const nowMs = yield* Clock.currentTimeMillis
  if (lateness.isLate(blueprint.template, name, clocks.get(name), nowMs)) late.push([name, why])
})

const deploy = Effect.fnUntraced(function* (
  work: Work,
  component: Component,
  at: number
): Effect.fn.Return<void, ProvisionError, Services> {
  const { blueprint, consumer, environment, namespace, offers } = work
  const want = blueprint.wants.find((each) => each.component === component.name)
  if (want !== undefined) {
    const record = yield* RemoteCluster.home(Reservations.bound(consumer, blueprint.wants, want))
    const isElsewhere = environment.spec.target !== undefined
    if (isElsewhere || isNeeded(blueprint, component)) {
      const binding = yield* RemoteCluster.home(bindingOf(record, want))
      offers.set(component.name, binding)
      // The slice's own controller writes it here.
      if (isElsewhere) yield* BindingCopy.write(copyOf(record), binding)
    }
  }
  const place = { environment, namespace, url: blueprint.url, offers }
  const variables = yield* RemoteCluster.home(ComponentVariables.render(place, component, at))
  if (ComponentVariables.hasAny(environment, component)) yield* ComponentVariables.write(place, component, variables)
  if (ComponentReleases.has(component)) yield* ComponentReleases.deploy(place, component, at)
  yield* Readiness.check(place, component, at)
  if (want === undefined) offers.set(component.name, variables)
})

const copyOf = (record: RawSlice): BindingCopy.Target => ({
  consumer: consumerOf(record),
  sliceId: record.spec.sliceId,
  uid: record.metadata.uid ?? ""
})

const isNeeded = ({ graph }: blueprints.Blueprint, { name }: Component): boolean =>
  [...graph.needs.values()].some((needs) => needs.includes(name))

/** The kept one: whoever writes to the environment's namespace changes nothing (S12). */
const bindingOf = Effect.fnUntraced(function* ({ metadata, spec }: RawSlice, { component }: Reservations.Want) {
  const { managementNamespace } = yield* Settings
  const owner = { sliceId: spec.sliceId, uid: metadata.uid ?? "" }
  const kept = yield* SliceSecrets.readKept(owner, managementNamespace)
  return Option.isSome(kept) ? kept.value.binding : yield* Reasons.binding_missing({ component })
})

// --- Taking it down

const isForced = ({ metadata }: Environment): boolean => metadata.annotations[forceAnnotation] === metadata.uid

/** What keeps the environment; where it was to be let go by another value than its UID, that value is what its conditions name. */
const refused = ({ metadata }: Environment, failure: ProvisionError): ProvisionError => {
  const value = metadata.annotations[forceAnnotation]
  if (value === undefined || value === metadata.uid) return failure
  return Disposition.join([Reasons.force_refused({ uid: metadata.uid }), failure])
}

const waited = (environment: Environment) => {
  const { deprovision, provision } = namespaceOf(environment)
  const failing = Effect.mapError(deprovision, (failure) => refused(environment, failure))
  return Provisioner.make("namespace", { provision, deprovision: failing })
}

/** The namespace is asked to go, and left to itself. */
const unwaited = (environment: Environment) => {
  const { deprovision, provision } = namespaceOf(environment)
  return Provisioner.make("namespace", {
    provision,
    deprovision: Effect.catchTag(deprovision, "Yield", () => Effect.void)
  })
}

/** The releases are tried, and left to themselves where they do not go. */
const unremoved = (environment: Environment) =>
  Effect.catch(ComponentReleases.removeAll(environment), ({ message, reason, vocabulary }) =>
    Effect.logWarning("an environment is let go by force; its releases may still be there", {
      environment: environment.metadata.name,
      uid: environment.metadata.uid,
      reason: `${vocabulary}.${reason}`,
      message
    })
  )

/** One that is Orphaned holds nobody up: it waits for a person, and is never torn down by guess (S13). */
const isHolding = (record: RawSlice): boolean => phaseOf(record) !== "Orphaned"

/** Nothing parks here, so what is a moment old is good enough. */
const isStalled = ({ status }: RawSlice): boolean => Conditions.isTrue(status?.conditions, "Stalled")

const releaseAll = Effect.fnUntraced(function* (
  environment: Environment
): Effect.fn.Return<void, ProvisionError, Services> {
  const { metadata } = environment
  const known = yield* Effect.flatMap(Records, ({ slicesOfConsumer }) => slicesOfConsumer(metadata.uid))
  const holding = known.filter(isHolding)
  const slices = holding.length > 0 ? holding : (yield* listed(metadata.uid)).filter(isHolding)
  yield* Effect.forEach(slices, Reservations.release, { concurrency: 4, discard: true })
  if (slices.length === 0) return
  if (isForced(environment)) return yield* letGo(environment, slices)
  const stalled = slices.filter(isStalled)
  if (stalled.length > 0) return yield* Reasons.slices_not_removed({ slices: held.names(stalled), uid: metadata.uid })
  return yield* Reasons.releasing_slices({ slices: held.names(slices) }, held.wait)
})

/** Each record stays, is tried again, and is Orphaned once its environment is gone. */
const letGo = Effect.fnUntraced(function* ({ metadata }: Environment, slices: ReadonlyArray<RawSlice>) {
  const names = slices.map((slice) => slice.metadata.name)
  yield* Effect.logWarning("an environment is let go by force; what its slices made may still be there", {
    environment: metadata.name,
    uid: metadata.uid,
    slices: names
  })
  yield* Events.recordIfAny({
    regarding: Events.regarding(Environment, metadata),
    type: "Warning",
    reason: "ForcedCleanup",
    action: "LetGo",
    note: `The environment is let go by force, and leaves these slices: ${names.join(", ")}.`
  })
})

/** The cache may not have a record that was just written: before the environment goes, the API server is asked. */
const listed = Effect.fnUntraced(function* (uid: string) {
  const { managementNamespace: namespace } = yield* Settings
  const labelSelector = `${environmentUidLabel}=${uid}`
  const { items } = yield* KubeFailure.classified(
    Client.use((client) => client.list(Slice, { namespace, labelSelector }))
  )
  return items.filter((record) => consumerOf(record).uid === uid)
})
