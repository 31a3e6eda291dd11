/**
 * Conditions: what an object's status says about it, in the form that every tool reads.
 *
 * **Guarantees**
 * - K25: `lastTransitionTime` moves only when `status` changes, `observedGeneration` is always set, the order is stable, and setting
 *   an equal condition gives back the same list, so that nothing need be written.
 *
 * @since 0.1.0
 */
import { DateTime, Effect, Option, Predicate, Schema } from "effect"
import { Client } from "./Client.ts"
import { described, listMap, Time } from "./internal/fields.ts"
import type { KubeError } from "./KubeError.ts"
import { type KubeObject, ref } from "./KubeObject.ts"
import type { ResourceType } from "./ResourceType.ts"

const qualifiedName = /^(?:[a-z0-9][-a-z0-9]*(?:\.[a-z0-9][-a-z0-9]*)*\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/u
const reasonShape = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/u

/**
 * The schema of a condition, with the bounds that Kubernetes gives it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Condition = Schema.Struct({
  type: Schema.String.check(Schema.isMaxCodePoints(316), Schema.isPattern(qualifiedName)).pipe(
    described("What the condition is about; unique in the list.")
  ),
  status: Schema.Literals(["True", "False", "Unknown"]),
  observedGeneration: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))).pipe(
    described("The generation of the object that this is about.")
  ),
  lastTransitionTime: Time.pipe(described("When the status last changed.")),
  reason: Schema.String.check(Schema.isMaxCodePoints(1024), Schema.isPattern(reasonShape)).pipe(
    described("A stable code for why it is so.")
  ),
  message: Schema.String.check(Schema.isMaxCodePoints(32768)).pipe(described("The same for people."))
})

/**
 * A condition as decoded.
 *
 * @category models
 * @since 0.1.0
 */
export interface Condition extends Schema.Schema.Type<typeof Condition> {}

/**
 * The schema of a status's `conditions`: at most 32, merged by type.
 *
 * **Example** (In the status of a kind)
 * ```ts
 * import * as Conditions from "@berth/kube/Conditions"
 * import * as Kind from "@berth/kube/Kind"
 * import { Schema } from "effect"
 *
 * export const Status = Schema.Struct({ conditions: Conditions.schema.pipe(Kind.withDefault([])) })
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const schema = Schema.Array(Condition).check(Schema.isMaxLength(32)).pipe(listMap("type"))

/**
 * What a controller has to say.
 *
 * @category models
 * @since 0.1.0
 */
export interface Input {
  readonly type: string
  readonly status: Condition["status"]
  readonly reason: string
  readonly message: string
}

/** Kubernetes' own times have no fractions. */
const inSeconds = (now: DateTime.Utc): DateTime.Utc =>
  DateTime.makeUnsafe(Math.floor(DateTime.toEpochMillis(now) / 1000) * 1000)

/**
 * Sets one condition: in its place, or at the end when it is new.
 *
 * **Details**: gives back the very same list when the condition is as it was, generation included.
 *
 * @category combinators
 * @since 0.1.0
 */
export const set = (
  list: ReadonlyArray<Condition>,
  { message, reason, status, type }: Input,
  { generation, now }: { readonly generation: number; readonly now: DateTime.Utc }
): ReadonlyArray<Condition> => {
  const before = list.find((condition) => condition.type === type)
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : inSeconds(now)
  const next: Condition = { type, status, observedGeneration: generation, lastTransitionTime, reason, message }
  if (before === undefined) return [...list, next]
  const same =
    before.status === status &&
    before.reason === reason &&
    before.message === message &&
    before.observedGeneration === generation
  return same ? list : list.map((condition) => (condition === before ? next : condition))
}

/**
 * Sets one condition, now.
 *
 * @category combinators
 * @since 0.1.0
 */
export const setNow = (
  list: ReadonlyArray<Condition>,
  input: Input,
  generation: number
): Effect.Effect<ReadonlyArray<Condition>> => Effect.map(DateTime.now, (now) => set(list, input, { generation, now }))

/**
 * An object whose status has conditions.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reporting extends KubeObject {
  readonly status?: { readonly conditions?: unknown } | undefined
}

const decode = Schema.decodeUnknownOption(Condition)
const encode = Schema.encodeEffect(schema)

/** A list with this condition in it, among others that are left exactly as they are, also where they are none. */
const placed = (raw: ReadonlyArray<unknown>, place: number, condition: unknown): ReadonlyArray<unknown> =>
  place < 0 ? [...raw, condition] : raw.map((item, index) => (index === place ? condition : item))

/**
 * Writes one condition into the object's status, unless it is there already. Nothing else of the status changes.
 *
 * **Details**: the version that is given is the one that is changed, so that nobody else's condition is lost. Those of others stay
 * as they are, with all of their fields. What is no list is replaced by one.
 *
 * **Errors**: `Conflict` where the object has changed meanwhile; whatever else the client fails with. A condition that its schema
 * does not allow is a defect.
 *
 * **Example** (Ready)
 * ```ts
 * import * as Conditions from "@berth/kube/Conditions"
 * import * as Kind from "@berth/kube/Kind"
 * import { Schema } from "effect"
 *
 * const Team = Kind.make({
 *   group: "example.com",
 *   version: "v1",
 *   kind: "Team",
 *   scope: "Cluster",
 *   spec: Schema.Struct({}),
 *   status: Schema.Struct({ conditions: Conditions.schema.pipe(Kind.withDefault([])) })
 * })
 *
 * export const ready = (team: Kind.Raw<typeof Team>) =>
 *   Conditions.report(Team, team, { type: "Ready", status: "True", reason: "Provisioned", message: "All is there." })
 * ```
 *
 * @category writing
 * @since 0.1.0
 */
export const report = Effect.fn("Conditions.report")(function* <O extends Reporting>(
  type: ResourceType<O>,
  object: O,
  input: Input
): Effect.fn.Return<void, KubeError, Client> {
  const client = yield* Client
  const { generation = 0, resourceVersion } = object.metadata
  const listed = object.status?.conditions
  const raw: ReadonlyArray<unknown> = Array.isArray(listed) ? listed : []
  const place = raw.findIndex((item) => Predicate.hasProperty(item, "type") && item.type === input.type)
  const before = Option.toArray(decode(raw[place]))
  const after = yield* setNow(before, input, generation)
  if (after === before) return
  const [condition] = yield* Effect.orDie(encode(after))
  const status = { conditions: placed(raw, place, condition) }
  const patch = { metadata: { resourceVersion }, status }
  yield* client.patch(type, ref(object), { type: "merge", patch }, { subresource: "status" })
})

/**
 * A decoded object, as far as its conditions matter.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly generation: number
  }
  readonly status?: { readonly conditions: ReadonlyArray<Condition> } | undefined
}

/**
 * Writes the conditions of one writer beside those of others, by server-side apply, and nothing where the object says the same already.
 *
 * **Details**: `fieldManager` has no other fields of the object, and all of its conditions are given each time: one that is missing is
 * taken away with the next change of another.
 *
 * **Errors**: whatever the client fails with. A condition that its schema does not allow is a defect.
 *
 * @category writing
 * @since 0.1.0
 */
export const apply = Effect.fn("Conditions.apply")(function* (
  type: ResourceType<Reporting>,
  { metadata, status }: Subject,
  inputs: ReadonlyArray<Input>,
  fieldManager: string
): Effect.fn.Return<void, KubeError, Client> {
  const { generation, name, namespace, uid } = metadata
  const at = { generation, now: yield* DateTime.now }
  const before = status?.conditions ?? []
  const after = inputs.reduce((list, input) => set(list, input, at), before)
  if (after === before) return
  const types = new Set(inputs.map((input) => input.type))
  const conditions = yield* Effect.orDie(encode(after.filter((condition) => types.has(condition.type))))
  const client = yield* Client
  const identity = { name, ...(namespace === undefined ? {} : { namespace }), uid }
  yield* client.apply(
    type,
    { metadata: identity, status: { conditions } },
    { subresource: "status", fieldManager, force: true }
  )
})

/**
 * Takes a condition out; gives back the very same list when it is not there.
 *
 * @category combinators
 * @since 0.1.0
 */
export const remove = (list: ReadonlyArray<Condition>, type: string): ReadonlyArray<Condition> =>
  list.some((condition) => condition.type === type) ? list.filter((condition) => condition.type !== type) : list

/** What raw conditions have in common with decoded ones. */
interface Readable {
  readonly type: string
  readonly status: string
  readonly observedGeneration?: number
}

/**
 * The condition of this type, in a decoded or a raw list; undefined when there is none.
 *
 * @category getters
 * @since 0.1.0
 */
export const get = <C extends Readable>(list: ReadonlyArray<C> | undefined, type: string): C | undefined =>
  list?.find((condition) => condition.type === type)

/**
 * Whether the condition of this type is True; with a generation, whether it is so for that one.
 *
 * @category getters
 * @since 0.1.0
 */
export const isTrue = (list: ReadonlyArray<Readable> | undefined, type: string, generation?: number): boolean => {
  const condition = get(list, type)
  const current = generation === undefined || condition?.observedGeneration === generation
  return condition?.status === "True" && current
}
