/**
 * Deletes environments whose time has come.
 *
 * **Guarantees**
 * - S27: an environment with a `ttl` is deleted once it has passed, also when it is parked on an error. Its status says when that is,
 *   and a warning Event comes before: an hour before, or when nine tenths of its time have passed, whatever is later.
 *
 * **Caveats**
 * - A paused environment is left alone. What decides is the newest object at the API server, so that an extension counts to the end.
 *
 * @since 0.1.0
 */
import type { Caches } from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Controller from "@berth/kube/Controller"
import type * as Kind from "@berth/kube/Kind"
import * as KubeError from "@berth/kube/KubeError"
import type { Ref } from "@berth/kube/KubeObject"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import { Clock, Duration, Effect, Option } from "effect"
import { Environment } from "./Environment.ts"
import * as Events from "@berth/kube/Events"
import { isPaused } from "./internal/paused.ts"
import { Records } from "./Records.ts"

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Caches | Client | Records

type Raw = Kind.Raw<typeof Environment>

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.map(Records, (records) =>
  Controller.make({
    name: "environment-expiry",
    watches: [
      Watch.on(records.definitions.environments, {
        when: ({ object, previous }) =>
          object.status?.expiresAt !== undefined && object.status.expiresAt !== previous?.status?.expiresAt
      })
    ],
    reconcile: look
  })
)

/** Unknown while the status does not speak of this generation: its ttl may be another one. */
const leftMs = ({ metadata, status }: Raw, nowMs: number): number | undefined =>
  status?.expiresAt === undefined || status.observedGeneration !== metadata.generation
    ? undefined
    : Date.parse(status.expiresAt) - nowMs

const hourMs = 3_600_000

/** How long before its end somebody is warned. */
const noticeMs = ({ metadata, status }: Raw): number => {
  const lifeMs = Date.parse(status?.expiresAt ?? "") - Date.parse(metadata.creationTimestamp ?? "")
  return Number.isNaN(lifeMs) ? hourMs : Math.max(0, Math.min(hourMs, lifeMs / 10))
}

const warn = (environment: Raw) =>
  Events.recordIfAny({
    regarding: environment,
    type: "Warning",
    reason: "Expiring",
    action: "Warn",
    note: `The environment is deleted at ${environment.status?.expiresAt}, when its ttl has passed. A longer spec.ttl keeps it.`
  })

/** Until the warning, and after it until the end. */
const wait = Effect.fnUntraced(function* (environment: Raw, left: number) {
  const notice = noticeMs(environment)
  if (left > notice) return Requeue.after(Duration.millis(left - notice))
  yield* warn(environment)
  return Requeue.after(Duration.millis(left))
})

/**
 * One look at an environment: warns, deletes, and says when to look again. The controller does nothing else.
 *
 * **Errors**: what the client fails with, but for an environment that is gone.
 *
 * @category running
 * @since 0.1.0
 */
export const look = Effect.fn("EnvironmentExpiry.look")(function* (
  ref: Ref
): Effect.fn.Return<Requeue.Requeue, KubeError.KubeError, Client | Records> {
  const known = yield* Effect.flatMap(Records, ({ environment }) => environment(ref))
  if (Option.isNone(known) || known.value.status?.expiresAt === undefined) return Requeue.none
  const nowMs = yield* Clock.currentTimeMillis
  const early = Date.parse(known.value.status.expiresAt) - nowMs
  if (early > 0) return yield* wait(known.value, early)
  const client = yield* Client
  const found = yield* KubeError.orNone(client.get(Environment, ref))
  if (Option.isNone(found) || found.value.metadata.deletionTimestamp !== undefined) return Requeue.none
  const left = leftMs(found.value, nowMs)
  if (left === undefined || isPaused(found.value)) return Requeue.after("1 minute")
  if (left > 0) return Requeue.after(Duration.millis(left))
  yield* Effect.logInfo("the environment has lived for its ttl and is deleted", ref)
  yield* Events.recordIfAny({
    regarding: found.value,
    type: "Normal",
    reason: "Expired",
    action: "Delete",
    note: "The environment is deleted: its ttl has passed."
  })
  const { resourceVersion, uid } = found.value.metadata
  yield* Effect.catchTag(
    client.delete(Environment, ref, { preconditions: { uid, resourceVersion } }),
    "NotFound",
    () => Effect.void
  )
  return Requeue.none
})
