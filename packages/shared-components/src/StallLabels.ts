/**
 * Labels what waits for somebody, so that whoever waits for it in turn can say so, and hears when that is over.
 *
 * An object that is parked is served again when an object that it declared as its input changes, and a change of status alone is no
 * such change. The label is one: it is on exactly the objects that are `Stalled`.
 *
 * **Guarantees**
 * - S6: what waits for something that is stalled is stalled as well, names it, and goes on when it does.
 * - It is an index (S5): one that is forged or removed is mended, and gives nobody a place or a slice.
 *
 * @since 0.1.0
 */
import type * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import * as Controller from "@berth/kube/Controller"
import type * as KubeError from "@berth/kube/KubeError"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import { Effect, Option } from "effect"
import { Records } from "./Records.ts"

/**
 * The label of what waits for somebody: `true`.
 *
 * @category constants
 * @since 0.1.0
 */
export const label = "berth.dev/stalled"

interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: ReadonlyArray<typeof Conditions.Condition.Encoded> }
}

/**
 * Whether an object has the label.
 *
 * @category guards
 * @since 0.1.0
 */
export const isOn = ({ metadata }: KubeObject): boolean => metadata.labels?.[label] === "true"

/**
 * What the controllers need.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Caches.Caches | Client

/**
 * A controller for each kind that others wait for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<ReadonlyArray<Controller.Controller<Services>>, never, Records> = Effect.map(
  Records,
  ({ definitions }) => [of(definitions.providers), of(definitions.sharedComponents), of(definitions.slices)]
)

const isStalled = ({ status }: Conditioned): boolean => Conditions.isTrue(status?.conditions, "Stalled")

const isWrong = (object: Conditioned): boolean =>
  isStalled(object) ? !isOn(object) : object.metadata.labels?.[label] !== undefined

const of = <O extends Conditioned, I extends string>(definition: Cache.Definition<O, I>) =>
  Controller.make({
    name: `stall-labels-${definition.type.plural}`,
    watches: [Watch.on(definition, { when: ({ _tag, object }) => _tag !== "Deleted" && isWrong(object) })],
    reconcile: (ref) => mend(definition, ref)
  })

const mend = Effect.fnUntraced(function* <O extends Conditioned, I extends string>(
  definition: Cache.Definition<O, I>,
  ref: Ref
): Effect.fn.Return<Requeue.Requeue, KubeError.KubeError, Services> {
  const found = yield* Effect.flatMap(Caches.open(definition), (cache) => cache.get(ref))
  if (Option.isNone(found) || !isWrong(found.value)) return Requeue.none
  const { uid } = found.value.metadata
  const patch = { metadata: { uid, labels: { [label]: isStalled(found.value) ? "true" : null } } }
  yield* Client.use((client) => client.patch(definition.type, ref, { type: "merge", patch })).pipe(
    Effect.catchTag(["NotFound", "Conflict"], () => Effect.void)
  )
  return Requeue.none
})
