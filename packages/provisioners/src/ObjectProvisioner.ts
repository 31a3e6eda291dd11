/**
 * A provisioner of one Kubernetes object, on whichever cluster the client in the context talks to.
 *
 * **Guarantees**
 * - P22: the object is applied, so that drift in the fields it names is corrected and the fields of others are kept; where
 *   nothing differs nothing is written. A change of an immutable field is Terminal `immutable_field`, or makes the object anew
 *   where the author opted in.
 * - P23: an object that something else owns is neither adopted nor deleted. Ownership is the label `berth.dev/owner-uid`, so
 *   that it works across namespaces and clusters.
 * - P24: deletion names the UID, yields until the object is gone, and says which finalizer holds it.
 *
 * **Caveats**
 * - It is looked at in passes: name its kind under `owns` of the manager, so that a change of the object leads to one.
 * - One GET per pass: a wrong answer about ownership would cost somebody's object, so the cache is not asked.
 * - Whether something differs is read from `managedFields`. Write values as the API server keeps them (`"1"` and not `"1000m"`,
 *   `data` and not `stringData`), or each pass sends an apply, which the server answers without storing anything.
 * - Removing the owner's label from an object gives it up: it is then somebody else's.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import * as Client from "@berth/kube/Client"
import * as KubeError from "@berth/kube/KubeError"
import type { Draft, KubeObject, Ref } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Effect, Option } from "effect"
import * as Disposition from "./Disposition.ts"
import * as Identifier from "./Identifier.ts"
import { holds } from "./internal/applied.ts"
import * as compose from "./internal/compose.ts"
import { isJsonObject } from "./internal/json.ts"
import * as KubeFailure from "./KubeFailure.ts"
import type * as Provisioner from "./Provisioner.ts"

/**
 * The label whose value is the UID of the object's owner.
 *
 * @category constants
 * @since 0.1.0
 */
export const ownerLabel = "berth.dev/owner-uid"

/**
 * The reasons of an object that is not there yet, or not gone yet.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `name_taken` | an object of this name that has another owner, or none | parked | rename or delete that object, then ask for a retry |
 * | `immutable_field` | the change touches what cannot be changed | parked | undo the change, or delete the object |
 * | `replaced` | the object was replaced while it was read | retried with backoff | nothing |
 * | `recreating` | the object is deleted, to be made anew | comes back in seconds | nothing |
 * | `deleting` | the object is being deleted | comes back in seconds | nothing |
 * | `held` | a finalizer holds the object | comes back in seconds | see to whoever owns that finalizer |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("object", {
  name_taken: Disposition.userActionRequired(
    "{resource} exists and belongs to something else; rename or remove it, then ask for a retry."
  ),
  immutable_field: Disposition.terminal("{fields} of {resource} cannot be changed once it exists."),
  replaced: Disposition.transient("{resource} was replaced at the same moment; trying again."),
  recreating: Disposition.yield("{resource} is being made anew, since {fields} cannot be changed."),
  deleting: Disposition.yield("Waiting for {resource} to be gone."),
  held: Disposition.yield("Waiting for {resource} to be gone; {finalizers} holds it.")
})

/**
 * Who owns the object: anything with a UID, such as the `metadata` of the object that is being reconciled.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner {
  readonly uid: string
}

/**
 * What all object provisioners are made from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings<O extends KubeObject, R> {
  readonly type: ResourceType.ResourceType<O>
  readonly owner: Owner
  /** Fails while the object, as it is after the apply, is not ready. Default: an object that exists is ready. */
  readonly ready?: ((object: O) => Effect.Effect<void, Disposition.ProvisionError, R>) | undefined
  /** Delete the object and make it anew when an immutable field is to change. Default false. */
  readonly recreate?: boolean | undefined
  /** Who is recorded as the owner of the fields. Default `berth`. */
  readonly fieldManager?: string | undefined
  /** What becomes of the object's dependents when it is deleted. Default `Background`. */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined
}

/**
 * The object itself: a draft with a name, or a name and an effect that makes the draft. Deprovisioning runs no such
 * effect, so what it needs may be gone by then.
 *
 * @category models
 * @since 0.1.0
 */
export type Source<O extends KubeObject, R> =
  | { readonly object: Draft<O> & { readonly metadata: { readonly name: string } }; readonly ref?: never }
  | { readonly object: Effect.Effect<Draft<O>, Disposition.ProvisionError, R>; readonly ref: Ref }

/** Never the version of an object that exists: with it an apply can only create. */
const noVersion = "1"
const soon = "2 seconds"

const unnamed = Identifier.of("the-object")

const named = (texts: ReadonlyArray<string>): ReadonlyArray<Identifier.Identifier> => {
  const known = texts.flatMap((text) => Option.toArray(Identifier.fromString(text)))
  return known.length === 0 ? [unnamed] : [...new Set(known)]
}

/** What the API server says of a field that cannot be changed; there is no code for it. */
const immutability =
  /immutable|cannot (be )?chang|can ?not be (updated|modified)|may not (be )?chang|updates to .* are forbidden|once set/iu

const immutableFields = (error: KubeError.KubeError): ReadonlyArray<string> =>
  error._tag === "Invalid"
    ? error.causes.filter(({ message }) => immutability.test(message)).map(({ field }) => field)
    : []

/** Of a Namespace too, whose finalizers stand in its spec. */
const finalizersOf = (object: KubeObject): ReadonlyArray<string> => {
  const spec = "spec" in object && isJsonObject(object.spec) ? object.spec["finalizers"] : undefined
  const inSpec = Array.isArray(spec) ? spec.filter((each) => typeof each === "string") : []
  return [...(object.metadata.finalizers ?? []), ...inSpec]
}

/** One object of one owner. */
interface Target<O extends KubeObject> {
  readonly type: ResourceType.ResourceType<O>
  readonly ref: Ref
  readonly owner: Owner
  readonly recreate: boolean
  readonly fieldManager: string
  readonly propagationPolicy: "Background" | "Foreground" | "Orphan"
  /** The same for people. */
  readonly resource: Identifier.Identifier
}

const targetOf = <O extends KubeObject, R>(settings: Settings<O, R>, ref: Ref): Target<O> => {
  const { fieldManager = "berth", owner, propagationPolicy = "Background", recreate = false, type } = settings
  const place = ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`
  const [resource = unnamed] = named([`${ResourceType.qualified(type)}/${place}`, ResourceType.qualified(type)])
  return { type, ref, owner, recreate, fieldManager, propagationPolicy, resource }
}

const isOurs = <O extends KubeObject>({ owner }: Target<O>, object: O): boolean =>
  object.metadata.labels?.[ownerLabel] === owner.uid

const leaving = <O extends KubeObject>({ resource }: Target<O>, object: O): Disposition.Yield => {
  const finalizers = finalizersOf(object)
  return finalizers.length === 0
    ? Reasons.deleting({ resource }, { after: soon })
    : Reasons.held({ resource, finalizers: named(finalizers) }, { after: soon, why: finalizers.join(", ") })
}

const read = <O extends KubeObject>({ ref, type }: Target<O>) =>
  Client.Client.use((client) => KubeError.orNone(client.get(type, ref)))

/** A Conflict is a successor under the same name: what was to be deleted is gone. */
const remove = <O extends KubeObject>({ propagationPolicy, ref, type }: Target<O>, { metadata }: O) =>
  Client.Client.use((client) =>
    Effect.catchTags(client.delete(type, ref, { preconditions: { uid: metadata.uid }, propagationPolicy }), {
      NotFound: () => Effect.void,
      Conflict: () => Effect.void
    })
  )

const complete = <O extends KubeObject>({ owner, ref }: Target<O>, draft: Draft<O>): Draft<O> => ({
  ...draft,
  metadata: {
    ...draft.metadata,
    name: ref.name,
    ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
    labels: { ...draft.metadata.labels, [ownerLabel]: owner.uid }
  }
})

/** Only creates where nothing was there, and only changes what was. */
const guarded = <O extends KubeObject>(draft: Draft<O>, live: Option.Option<O>): Draft<O> => ({
  ...draft,
  metadata: Option.match(live, {
    onNone: () => ({ ...draft.metadata, resourceVersion: noVersion }),
    onSome: ({ metadata }) => ({ ...draft.metadata, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) })
  })
})

const refused = Effect.fnUntraced(function* <O extends KubeObject>(
  target: Target<O>,
  error: KubeError.Invalid,
  live: Option.Option<O>
): Effect.fn.Return<never, Disposition.ProvisionError | KubeError.KubeError, Client.Client> {
  const fields = immutableFields(error)
  if (Option.isNone(live) || fields.length === 0) return yield* error
  const { recreate, resource } = target
  const details = { why: error.detail, cause: error }
  if (fields.includes("metadata.uid")) return yield* Reasons.replaced({ resource }, details)
  const values = { resource, fields: named(fields) }
  if (!recreate) return yield* Reasons.immutable_field(values, details)
  yield* remove(target, live.value)
  return yield* Reasons.recreating(values, { ...details, after: soon })
})

/** `force`, since what the draft says is meant: a field that somebody edited by hand is theirs until it is taken back. */
const write = <O extends KubeObject>(target: Target<O>, draft: Draft<O>, live: Option.Option<O>) =>
  Client.Client.use((client) =>
    client.apply(target.type, guarded(draft, live), { fieldManager: target.fieldManager, force: true })
  ).pipe(Effect.catchTag("Invalid", (error) => refused(target, error, live)))

const provision = Effect.fnUntraced(function* <O extends KubeObject>(target: Target<O>, given: Draft<O>) {
  const { fieldManager, resource } = target
  const draft = complete(target, given)
  const live = yield* read(target)
  if (Option.isSome(live)) {
    if (!isOurs(target, live.value)) return yield* Reasons.name_taken({ resource })
    if (live.value.metadata.deletionTimestamp !== undefined) return yield* leaving(target, live.value)
    if (holds(draft, live.value, fieldManager)) return live.value
  }
  return yield* write(target, draft, live)
}, KubeFailure.classified)

const deprovision = Effect.fnUntraced(function* <O extends KubeObject>(target: Target<O>) {
  const live = yield* read(target)
  if (Option.isNone(live) || !isOurs(target, live.value)) return
  if (live.value.metadata.deletionTimestamp === undefined) yield* remove(target, live.value)
  const left = yield* read(target)
  if (Option.isSome(left) && left.value.metadata.uid === live.value.metadata.uid) {
    return yield* leaving(target, left.value)
  }
}, KubeFailure.classified)

/**
 * Makes a provisioner of one object.
 *
 * **Details**: provisioning reads the object, applies it where something differs, and asks `ready`. Deprovisioning deletes it
 * and waits until it is gone; an object that is not the owner's counts as gone.
 *
 * **Errors**: {@link Reasons}, those of `KubeFailure`, and those of the draft's effect and of `ready`.
 *
 * **Example** (A namespace of one's own)
 * ```ts
 * import * as ResourceType from "@berth/kube/ResourceType"
 * import * as ObjectProvisioner from "@berth/provisioners/ObjectProvisioner"
 *
 * const Namespace = ResourceType.make({
 *   group: "", version: "v1", kind: "Namespace", plural: "namespaces", scope: "Cluster"
 * })
 *
 * export const namespaceOf = (environment: { readonly metadata: { readonly name: string; readonly uid: string } }) =>
 *   ObjectProvisioner.make("namespace", {
 *     type: Namespace,
 *     owner: environment.metadata,
 *     object: { metadata: { name: `env-${environment.metadata.name}` } }
 *   })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const N extends string, O extends KubeObject, R1 = never, R2 = never>(
  name: N & (N extends Identifier.Identifier ? unknown : Identifier.Literal<N>),
  options: Settings<O, R1> & Source<O, R2>
): Provisioner.Provisioner<Client.Client | R1 | R2, N> => {
  const target = targetOf(options, refOf(options))
  const draft = Effect.isEffect(options.object) ? options.object : Effect.succeed(options.object)
  const ready = options.ready ?? (() => Effect.void)
  const provisioned = Effect.flatMap(draft, (given) => provision(target, given))
  return compose.make(name, Effect.flatMap(provisioned, ready), deprovision(target))
}

const refOf = <O extends KubeObject, R>(source: Source<O, R>): Ref =>
  source.ref ?? { name: source.object.metadata.name, namespace: source.object.metadata.namespace }

/**
 * What a provisioner of this kind asks of the API server.
 *
 * @category access
 * @since 0.1.0
 */
export const access = (
  type: ResourceType.ResourceType,
  { namespace }: { readonly namespace?: string | undefined } = {}
): ReadonlyArray<Access.Access> => [Access.to(type, ["get", "create", "patch", "delete"], { namespace })]
