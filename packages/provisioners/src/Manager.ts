/**
 * From a kind to a running controller: one provisioner tree for each object, and the object's finalizer, conditions, retries
 * and record kept around it.
 *
 * **Guarantees**
 * - P2: a Yield comes back in about 10 s and is no failure; a Transient backs off from 1 s to 5 min; Terminal and
 *   UserActionRequired park until the generation or the annotation `berth.dev/retry` changes, the latter also until an
 *   {@link input} changes.
 * - P3: status and Events show reasons and messages, metrics reasons only; `why` and causes go to the log. An Event is recorded,
 *   where the program has a recorder, when an object's reason has changed: not for a Yield, nor for a single Transient.
 * - P13: an interrupted pass writes nothing into status.
 * - P14: gone → nothing; deleting → deprovision, paused or not; paused → condition `Paused` and nothing else; else provision,
 *   once the finalizer is on the object.
 * - P15: a delete pass never parks.
 * - P16: the finalizer goes only after deprovisioning succeeded for this UID.
 * - P17: `Ready`, `Reconciling` and `Stalled` follow kstatus, with `Available` beside them.
 * - P18, P19: attempts, failures, the next retry and what an object is parked on are in its status, and survive a restart.
 * - P20, P21: a new generation is served at once and starts afresh; `observedGeneration` is the generation acted on.
 *
 * **Caveats**
 * - Conditions and the fields of {@link statusFields} are the manager's. Other fields of the status, and conditions of other
 *   types, may have other writers.
 * - An object whose first pass has not begun has no conditions. kstatus takes such an object for ready; the first thing that a
 *   manager writes into status, before the first pass, is therefore that it is reconciling, unless `announces` is false.
 * - At most 64 entries of progress and 64 inputs are kept in status. An object that is parked on so many inputs is served once after a
 *   restart.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import type * as Client from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import * as Controller from "@berth/kube/Controller"
import type { Finalizer } from "@berth/kube/Finalizers"
import type * as KubeError from "@berth/kube/KubeError"
import * as Kind from "@berth/kube/Kind"
import type { Ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import { type Duration, Effect, Option, Schema, type Scope } from "effect"
import type * as Disposition from "./Disposition.ts"
import * as bookkeeping from "./internal/bookkeeping.ts"
import * as inputs from "./internal/inputs.ts"
import * as owned from "./internal/owned.ts"
import * as news from "./internal/news.ts"
import * as internal from "./internal/passes.ts"
import type { ManagedObject, ManagedStatus } from "./internal/status.ts"
import type { Provisioner } from "./Provisioner.ts"

/**
 * The annotation that asks for a retry: whenever its value changes, an object that is parked or backing off is served at once.
 *
 * @category constants
 * @since 0.1.0
 */
export const retryAnnotation = bookkeeping.retryAnnotation

/**
 * The annotation that pauses an object, unless its value is `false`.
 *
 * @category constants
 * @since 0.1.0
 */
export const pausedAnnotation = "berth.dev/paused"

/**
 * The reasons that a manager gives by itself.
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = internal.Reasons

/**
 * The fields that a manager keeps in a status: spread them into the status schema of the kind.
 *
 * **Details**: `conditions` are standard. `observedGeneration` is the generation that the last pass acted on. `provisioning` is the
 * manager's record: attempts, first and last failure, next retry, what the object is parked on, and the progress of each
 * provisioner.
 *
 * **Example** (A kind with a manager)
 * ```ts
 * import * as Kind from "@berth/kube/Kind"
 * import * as Manager from "@berth/provisioners/Manager"
 * import { Schema } from "effect"
 *
 * export const Greeting = Kind.make({
 *   group: "example.com", version: "v1", kind: "Greeting", scope: "Namespaced",
 *   spec: Schema.Struct({ text: Kind.Text(1, 100) }),
 *   status: Schema.Struct({ ...Manager.statusFields, url: Schema.optionalKey(Kind.Text(1, 2048)) })
 * })
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const statusFields = {
  conditions: Schema.optionalKey(Conditions.schema),
  observedGeneration: Schema.optionalKey(
    Schema.Int.pipe(Kind.described("The generation of the spec that the rest of the status is about."))
  ),
  provisioning: Schema.optionalKey(bookkeeping.schema)
}

/**
 * A kind whose status has the {@link statusFields}.
 *
 * @category models
 * @since 0.1.0
 */
export interface ManagedKind<O extends ManagedObject, D> extends ResourceType<O> {
  readonly decode: (object: unknown) => Effect.Effect<D, Schema.SchemaError>
}

/**
 * What a pass came to, as far as it may be shown.
 *
 * **Details**: `failure` is undefined where the pass finished. `conditions` are those that will be written.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outcome extends internal.Outcome {}

/**
 * The fields of a status that are the kind's own; undefined takes a field out.
 *
 * @category models
 * @since 0.1.0
 */
export type OwnStatus<O extends ManagedObject> = object & {
  readonly [K in Exclude<keyof NonNullable<O["status"]>, keyof ManagedStatus>]?: NonNullable<O["status"]>[K] | undefined
}

/**
 * What a manager is made from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<O extends ManagedObject, D, I extends string, R1, R2, R3, R4> {
  readonly kind: ManagedKind<O, D>
  /** The tree of this object, at each pass. Names and inputs that must not change belong into a record, not in here. */
  readonly provisioner: (object: D) => Provisioner<R1> | Effect.Effect<Provisioner<R1>, Disposition.ProvisionError, R2>
  /** The cache of the kind, where the program limits it or adds indexes. Default: all objects, without managedFields. */
  readonly definition?: Cache.Definition<O, I> | undefined
  /**
   * Kinds of which the provisioners make objects on the manager's own cluster: whoever changes or deletes one wakes its owner, which
   * puts it right, and so does a status that gets ready. Of a kind only the metadata of objects with the label
   * `ObjectProvisioner.ownerLabel` is watched, in one cache for all managers; a definition is a cache that the program has anyway, whose
   * objects may also name their owner in `ownerReferences`. Default: none, so that drift is found by the next pass, whenever that is:
   * see `resync`.
   */
  readonly owns?: ReadonlyArray<ResourceType | Cache.AnyDefinition> | undefined
  /** Other objects whose changes concern one of this kind. */
  readonly watches?: ReadonlyArray<Watch.Watch<R4>> | undefined
  /**
   * Kinds of which objects are declared by {@link input}: their changes wake whoever has read them in the last pass, ready or not. Of a
   * kind only the metadata is watched, in one cache for all managers; a definition is a cache that the program has anyway, or that is to
   * see less.
   */
  readonly inputs?: ReadonlyArray<ResourceType | Cache.AnyDefinition> | undefined
  /** False for a kind that leaves nothing behind: then nothing is deprovisioned. Default `berth.dev/<plural>`. */
  readonly finalizer?: Finalizer | false | undefined
  /**
   * The kind's own fields of the status, such as a phase or an address. Pure, or an effect that does not fail. Called after each pass, in
   * both directions; `Outcome.progress` says by its path what became of each provisioner.
   */
  readonly status?: ((object: D, outcome: Outcome) => OwnStatus<O> | Effect.Effect<OwnStatus<O>, never, R3>) | undefined
  /**
   * Whether an object that is not Ready can be used all the same, as one that is to go and serves until then: `Available` says so, with the
   * reason of `Ready`. Default: no.
   */
  readonly available?: ((object: D, failure: Disposition.Shown) => boolean) | undefined
  /**
   * Whether a new object says that it is being provisioned before its first pass begins. Default true, since kstatus takes an object
   * without conditions for one that is ready. Without it the first pass begins one request sooner: for records of the program's own, by
   * whose status nobody but the program goes.
   */
  readonly announces?: boolean | undefined
  /** Default {@link pausedAnnotation}. */
  readonly pausedAnnotation?: string | undefined
  /** How many objects are served at once. Default as in `Controller.make`. */
  readonly concurrency?: number | undefined
  /** How long one pass may take before it is interrupted. Default as in `Controller.make`. */
  readonly deadline?: Duration.Input | undefined
  /**
   * Looks at every object again so often, with low priority: for drift of which nobody tells, such as that of objects on other clusters.
   * What is parked stays parked; what is in a backoff does not wait for its end. Default: never.
   */
  readonly resync?: Duration.Input | undefined
}

export { input } from "./internal/inputs.ts"

const passesOf = <O extends ManagedObject, D, I extends string, R1, R2, R3, R4, R5>(
  options: Options<O, D, I, R1, R2, R3, R4>,
  lookup: (ref: Ref) => Effect.Effect<Option.Option<O>, never, R5>,
  waiting: inputs.Waiting,
  declared: internal.Plan<O, D, never>["declared"]
) => {
  const { kind, provisioner, status } = options
  const plan: internal.Plan<O, D, R1 | R2 | R3 | R5> = {
    type: kind,
    decode: kind.decode,
    provisioner: (object) => {
      const tree = provisioner(object)
      return Effect.isEffect(tree) ? tree : Effect.succeed(tree)
    },
    finalizer: news.finalizerOf(options),
    announces: options.announces ?? true,
    pausedAnnotation: options.pausedAnnotation ?? pausedAnnotation,
    own: (object, outcome) => {
      if (status === undefined) return Effect.succeed({})
      const own: OwnStatus<O> | Effect.Effect<OwnStatus<O>, never, R3> = status(object, outcome)
      return Effect.isEffect(own) ? own : Effect.succeed(own)
    },
    available: (object, failure) => options.available?.(object, failure) ?? false,
    lookup,
    waiting,
    declared
  }
  return internal.make(plan)
}

const requeue = (next: internal.Next): Requeue.Requeue =>
  Option.match(next, { onNone: () => Requeue.none, onSome: Requeue.after })

/**
 * The passes of a manager without its controller, one at a time: for tests of a provisioner, and for tools.
 *
 * **Details**: `lookup` finds the object, which a controller does in its cache. What the passes of one manager remember of each
 * other besides the object's status is gone with the returned function, as it is when a process ends.
 *
 * **Errors**: those of the manager's own reads and writes; a pass that fails is a success with a time to come back.
 *
 * **Example** (One pass for one object, in a test)
 * ```ts
 * import * as Client from "@berth/kube/Client"
 * import * as Kind from "@berth/kube/Kind"
 * import * as KubeError from "@berth/kube/KubeError"
 * import * as Manager from "@berth/provisioners/Manager"
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect, Schema } from "effect"
 *
 * const Greeting = Kind.make({
 *   group: "example.com", version: "v1", kind: "Greeting", scope: "Namespaced",
 *   spec: Schema.Struct({ text: Kind.Text(1, 100) }),
 *   status: Schema.Struct(Manager.statusFields)
 * })
 * const provisioner = () => Provisioner.make("greeting", { provision: Effect.log("hello"), deprovision: Effect.void })
 *
 * export const program = Effect.gen(function*() {
 *   const client = yield* Client.Client
 *   const pass = Manager.passes({ kind: Greeting, provisioner }, (ref) => Effect.orDie(KubeError.orNone(client.get(Greeting, ref))))
 *   return yield* pass({ name: "first", namespace: "default" })
 * })
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const passes = <
  O extends ManagedObject,
  D,
  R1,
  I extends string = never,
  R2 = never,
  R3 = never,
  R4 = never,
  R5 = never
>(
  options: Options<O, D, I, R1, R2, R3, R4>,
  lookup: (ref: Ref) => Effect.Effect<Option.Option<O>, never, R5>
): ((ref: Ref) => Effect.Effect<Requeue.Requeue, KubeError.KubeError, Client.Client | R1 | R2 | R3 | R5>) => {
  const pass = passesOf(options, lookup, inputs.makeWaiting(), () => Effect.void)
  return (ref) => Effect.map(pass(ref), requeue)
}

/**
 * Makes the controller of a kind: one provisioner tree for each of its objects.
 *
 * **Details**: the package's README says what becomes of each outcome of a pass. A failure of the manager's own reads and
 * writes fails the reconcile, and the controller tries again with backoff.
 *
 * **Example** (A ConfigMap for every Greeting)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Kind from "@berth/kube/Kind"
 * import * as Manager from "@berth/provisioners/Manager"
 * import * as ObjectProvisioner from "@berth/provisioners/ObjectProvisioner"
 * import { Schema } from "effect"
 *
 * const Greeting = Kind.make({
 *   group: "example.com", version: "v1", kind: "Greeting", scope: "Cluster",
 *   spec: Schema.Struct({ text: Kind.Text(1, 100) }),
 *   status: Schema.Struct(Manager.statusFields)
 * })
 *
 * export const greetings = Manager.make({
 *   kind: Greeting,
 *   owns: [Builtin.ConfigMap],
 *   provisioner: (greeting) =>
 *     ObjectProvisioner.make("text", {
 *       type: Builtin.ConfigMap,
 *       owner: greeting.metadata,
 *       object: {
 *         metadata: { name: `greeting-${greeting.metadata.name}`, namespace: "default" },
 *         data: { text: greeting.spec.text }
 *       }
 *     })
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <O extends ManagedObject, D, R1, I extends string = never, R2 = never, R3 = never, R4 = never>(
  options: Options<O, D, I, R1, R2, R3, R4>
): Controller.Controller<Client.Client | Caches.Caches | Exclude<R1 | R2 | R3, Scope.Scope> | R4> => {
  const definition = options.definition ?? Cache.define<O, I>(options.kind)
  const waiting = inputs.makeWaiting()
  const sources = options.inputs ?? []
  const owners = owned.makeOwners()
  const lookup = (ref: Ref) =>
    Caches.open(definition).pipe(
      Effect.flatMap((cache) => cache.get(ref)),
      Effect.tap((found) => Effect.sync(() => owners.note(ref, found)))
    )
  // What a watch of the author's own is about is not to be seen from here.
  const declared = options.watches === undefined ? inputs.unwatched(sources) : () => Effect.void
  const pass = passesOf(options, lookup, waiting, declared)
  const wakers = [
    ...sources.map((source) => inputs.waker(source, waiting)),
    ...(options.owns ?? []).map((source) => owned.waker(source, owners))
  ]
  return Controller.make({
    name: options.kind.plural,
    watches: [
      Watch.on(definition, { when: news.isNews(news.finalizerOf(options)) }),
      ...wakers,
      ...(options.watches ?? [])
    ],
    reconcile: (ref) => Effect.map(pass(ref), requeue),
    concurrency: options.concurrency,
    deadline: options.deadline,
    resync: options.resync
  })
}

/**
 * What a manager asks of the API server about its own kind, the cache included. What it does for an object is its provisioner's, and
 * its inputs need `get`, `list` and `watch`.
 *
 * @category access
 * @since 0.1.0
 */
export const access = (
  kind: ResourceType,
  { namespace }: { readonly namespace?: string | undefined } = {}
): ReadonlyArray<Access.Access> => [
  // The finalizer is patched.
  Access.to(kind, ["get", "list", "watch", "patch"], { namespace }),
  Access.to(kind, ["patch"], { namespace, subresource: "status" })
]
