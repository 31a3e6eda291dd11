/**
 * Takes back places whose record is gone, as when somebody removed a record's finalizer by hand.
 *
 * **Guarantees**
 * - S1: a place is given back only after the API server said that there is no such record.
 * - S4: a look costs one request, and one list only where a place seems to be nobody's.
 *
 * **Caveats**
 * - A place that was lost in this way is found when its record disappears, or within five minutes.
 *
 * @since 0.1.0
 */
import type { Caches } from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Controller from "@berth/kube/Controller"
import type * as KubeError from "@berth/kube/KubeError"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import { Effect, Option } from "effect"
import * as Admission from "./Admission.ts"
import * as Ledger from "./Ledger.ts"
import { phaseOf, type RawSlice, Records } from "./Records.ts"
import { Settings } from "./Settings.ts"
import { Slice } from "./Slice.ts"

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Caches | Client | Records | Settings

const every = "5 minutes"

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.map(Records, (records) => {
  const { sharedComponents, slices } = records.definitions
  return Controller.make({
    name: "ledger-audits",
    watches: [
      Watch.on(sharedComponents),
      Watch.mapped(
        slices,
        ({ metadata, spec }) => [{ name: spec.sharedComponent.name, namespace: metadata.namespace }],
        { when: ({ _tag, object }) => _tag === "Deleted" && vanished(object) }
      )
    ],
    reconcile: ({ name }) => audit(records, name)
  })
})

/** A record that is torn down gives its place up itself. */
const vanished = (slice: RawSlice): boolean => phaseOf(slice) !== "Releasing" && phaseOf(slice) !== "Waiting"

const audit = Effect.fnUntraced(function* (
  records: Records["Service"],
  name: string
): Effect.fn.Return<Requeue.Requeue, KubeError.KubeError, Client | Settings> {
  const found = Option.getOrUndefined(yield* records.sharedComponent(name))
  const uid = found?.metadata.uid
  if (found === undefined || uid === undefined) return Requeue.none
  if ((found.spec.maxConsumers ?? 0) === 0) return Requeue.none
  const { managementNamespace: namespace } = yield* Settings
  const known = new Set((yield* records.slicesOfSharedComponent(uid)).map(({ metadata }) => metadata.uid))
  const truth = yield* Effect.cached(
    Client.use((client) => client.list(Slice, { namespace })).pipe(
      Effect.map(({ items }) => new Set(items.map(({ metadata }) => metadata.uid)))
    )
  )
  const dropped = yield* Ledger.audit(Admission.book({ name, uid }, namespace), (member) =>
    known.has(member) ? Effect.succeed(true) : Effect.map(truth, (all) => all.has(member))
  )
  if (dropped.length > 0) yield* Effect.logWarning("places without a record were given back", { places: dropped })
  return Requeue.after(every)
})
