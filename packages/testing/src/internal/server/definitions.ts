/**
 * Keeps the kinds of the server in step with its CustomResourceDefinitions.
 */
import type { Api } from "./api.ts"
import { customKinds } from "./customKinds.ts"
import { collect, dropFinalizers } from "./deletion.ts"
import { cleanup, condition, definitionOf, definitions } from "./definitionStatus.ts"
import { at, fields, same, withAt, type Obj } from "./json.ts"
import type { Change } from "./store.ts"

const accepted = (api: Api, crd: Obj): Obj => {
  const nowMs = api.time.nowMs()
  const named = condition(crd, nowMs, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
  const established = condition(
    named,
    nowMs,
    "Established",
    "True",
    "InitialNamesAccepted",
    "the initial names have been accepted"
  )
  return withAt(established, ["status", "acceptedNames"], fields(at(crd, "spec", "names")))
}

/** Deletes the objects of a definition that is being deleted, and then lets it go. */
const terminate = (api: Api, crd: Obj, storage: string): void => {
  for (const object of api.store.all(storage)) {
    if (object.metadata.deletionTimestamp === undefined) collect(api, storage, object, "Background")
  }
  const current = api.store.get(definitions, crd.metadata.name)
  if (current === undefined) return
  if (api.store.all(storage).length === 0) {
    dropFinalizers(api, definitions, current, [cleanup])
    return
  }
  const waiting = condition(
    current,
    api.time.nowMs(),
    "Terminating",
    "True",
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress"
  )
  if (!same(waiting, current)) api.store.put(definitions, waiting)
}

/** @internal */
export const tendDefinitions = (api: Api, { before, key, object, storage, type }: Change): void => {
  if (storage !== definitions) {
    const crd = type === "DELETED" ? definitionOf(api, storage) : undefined
    if (crd?.metadata.deletionTimestamp !== undefined) terminate(api, crd, storage)
    return
  }
  const kinds = customKinds(object)
  const place = kinds[0]?.storage
  if (place === undefined) return
  if (type === "DELETED") {
    api.registry.drop(place)
    return
  }
  const current = api.store.get(definitions, key)
  if (current === undefined) return
  if (current.metadata.deletionTimestamp !== undefined) {
    terminate(api, current, place)
    return
  }
  if (before === undefined || !same(before["spec"], object["spec"])) {
    api.registry.drop(place)
    api.registry.add(kinds)
    const next = accepted(api, current)
    if (!same(next, current)) api.store.put(definitions, next)
  }
}
