/**
 * The garbage collector: deletes dependents whose owners are gone, and carries out the propagation policies of deletes.
 *
 * It works on the changes of the store, before the answer to the request that made them is sent.
 */
import type { Api } from "./api.ts"
import { collect, dropFinalizers } from "./deletion.ts"
import { groupOf, withMeta, type Obj, type OwnerRef } from "./json.ts"
import type { Change } from "./store.ts"

type Standing = "solid" | "absent" | "waiting"

const finalizerOf = (object: Obj, finalizer: string): boolean =>
  object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).includes(finalizer)

/** Whether an owner is there, gone, or only waits for its dependents to go. */
const standing = (api: Api, dependent: Obj, owner: OwnerRef): Standing => {
  const found = api.store.byUid(owner.uid)
  if (found === undefined) return "absent"
  const { apiVersion, kind, metadata } = found.object
  const sameKind = kind === owner.kind && groupOf(apiVersion) === groupOf(owner.apiVersion)
  const reachable = metadata.namespace === undefined || metadata.namespace === dependent.metadata.namespace
  if (!sameKind || metadata.name !== owner.name || !reachable) return "absent"
  return finalizerOf(found.object, "foregroundDeletion") ? "waiting" : "solid"
}

const withoutOwners = (object: Obj, gone: (owner: OwnerRef) => boolean): Obj => {
  const owners = (object.metadata.ownerReferences ?? []).filter((owner) => !gone(owner))
  return withMeta(object, { ownerReferences: owners.length === 0 ? undefined : owners })
}

/** Decides about one dependent by the standing of all of its owners. */
const examine = (api: Api, storage: string, dependent: Obj): void => {
  const owners = dependent.metadata.ownerReferences ?? []
  if (owners.length === 0 || dependent.metadata.deletionTimestamp !== undefined) return
  const standings = new Map(owners.map((owner) => [owner, standing(api, dependent, owner)]))
  const counted = [...standings.values()]
  if (counted.includes("solid")) {
    if (counted.every((one) => one === "solid")) return
    api.store.put(
      storage,
      withoutOwners(dependent, (owner) => standings.get(owner) !== "solid")
    )
    return
  }
  const blocking = api.store
    .dependents(dependent.metadata.uid)
    .some(({ object }) => object.metadata.ownerReferences?.some((owner) => owner.blockOwnerDeletion === true))
  // Where the owner waits, the dependents of the dependent have to go first as well.
  collect(api, storage, dependent, counted.includes("waiting") && blocking ? "Foreground" : undefined)
}

const orphan = (api: Api, owner: Obj): void => {
  const { uid } = owner.metadata
  for (const { object, storage } of api.store.dependents(uid)) {
    api.store.put(
      storage,
      withoutOwners(object, (reference) => reference.uid === uid)
    )
  }
}

/** Carries a delete on, that waits for the collector. */
const proceed = (api: Api, storage: string, owner: Obj): void => {
  const { uid } = owner.metadata
  if (finalizerOf(owner, "orphan")) {
    orphan(api, owner)
    dropFinalizers(api, storage, owner, ["orphan"])
    return
  }
  if (!finalizerOf(owner, "foregroundDeletion")) return
  for (const { object, storage: place } of api.store.dependents(uid)) examine(api, place, object)
  const blocked = api.store
    .dependents(uid)
    .some(({ object }) =>
      object.metadata.ownerReferences?.some(
        (reference) => reference.uid === uid && reference.blockOwnerDeletion === true
      )
    )
  const current = api.store.byUid(uid)
  if (!blocked && current !== undefined) dropFinalizers(api, storage, current.object, ["foregroundDeletion"])
}

/** Looks at everything that a change may have set free. @internal */
export const collectGarbage = (api: Api, { before, object, storage, type }: Change): void => {
  const { uid } = object.metadata
  if (type === "DELETED") {
    for (const dependent of api.store.dependents(uid)) examine(api, dependent.storage, dependent.object)
  } else {
    const current = api.store.byUid(uid)
    if (current === undefined) return
    examine(api, storage, current.object)
    proceed(api, storage, current.object)
  }
  for (const { uid: owner } of [
    ...(object.metadata.ownerReferences ?? []),
    ...(before?.metadata.ownerReferences ?? [])
  ]) {
    const waiting = api.store.byUid(owner)
    if (waiting !== undefined && finalizerOf(waiting.object, "foregroundDeletion")) {
      proceed(api, waiting.storage, waiting.object)
    }
  }
}
