/** Sees that somebody has deleted the Secret of a tenant's password, which its finalizer keeps: the next look at the database says so. */
import * as Caches from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import * as Conditions from "@berth/kube/Conditions"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import type { Watch } from "@berth/kube/Watch"
import { Effect, Stream } from "effect"
import * as Credentials from "../../Credentials.ts"
import { isGiven, phaseOf, type RawDatabase, type Records } from "../../Records.ts"
import { lookAgain, type Memory } from "./memory.ts"
import { type as verified } from "./verification.ts"

const tenantOf = ({ metadata }: KubeObject): string => metadata.labels?.[Credentials.tenantLabel] ?? ""

const isLeaving = ({ _tag, object }: Change<KubeObject>): boolean =>
  _tag !== "Deleted" && object.metadata.deletionTimestamp !== undefined

/** One that was found wanting, and may be mended by this. */
const isIll = ({ status }: RawDatabase): boolean => Conditions.get(status?.conditions, verified)?.status === "False"

export const watch = (records: Records["Service"], memory: Memory): Watch => ({
  start: Effect.fnUntraced(function* (trigger) {
    const cache = yield* Caches.open(records.definitions.credentials)
    const follow = Effect.fnUntraced(function* (change: Change<KubeObject>) {
      const name = tenantOf(change.object)
      const wasLeaving = memory.leaving.has(name)
      if (isLeaving(change)) memory.leaving.add(name)
      else memory.leaving.delete(name)
      if (change.initial && !memory.leaving.has(name)) return
      const found = yield* records.databasesByName(name)
      const given = found.filter((database) => isGiven(phaseOf(database)))
      const concerned = given.filter((database) => wasLeaving !== memory.leaving.has(name) || isIll(database))
      for (const database of concerned) {
        lookAgain(memory, database.metadata.uid ?? "")
        trigger(KubeObjects.ref(database), false)
      }
    })
    yield* Effect.forkScoped(Stream.runForEach(cache.changes, follow))
    return { synced: cache.synced, refs: Effect.succeed([]) }
  })
})
