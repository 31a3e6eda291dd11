/**
 * Keeps the kinds of the server in step with its CustomResourceDefinitions.
 */
import type { Api } from "./api.ts"
import { customKinds } from "./customKinds.ts"
import { collect, dropFinalizers } from "./deletion.ts"
import { naming, siblings } from "./definitionNames.ts"
import { cleanup, condition, definitionOf, definitions, isEstablished } from "./definitionStatus.ts"
import { same, withAt, type Obj } from "./json.ts"
import { managed } from "./managing.ts"
import type { Change } from "./store.ts"

/** The definition with its names accepted, as far as nobody else has them, and established once all of them are. */
const accepted = (api: Api, crd: Obj): Obj => {
  const nowMs = api.time.nowMs()
  const { accepted: names, conflict } = naming(api, crd)
  const named =
    conflict === undefined
      ? condition(crd, nowMs, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
      : condition(crd, nowMs, "NamesAccepted", "False", conflict.reason, conflict.message)
  const established =
    conflict === undefined
      ? condition(named, nowMs, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
      : isEstablished(crd)
        ? named
        : condition(named, nowMs, "Established", "False", "NotAccepted", "not all names are accepted")
  return withAt(established, ["status", "acceptedNames"], names)
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

const accept = (api: Api, crd: Obj): void => {
  const next = accepted(api, crd)
  const kinds = customKinds(crd)
  const [first] = kinds
  if (first !== undefined) api.registry.drop(first.storage)
  if (isEstablished(next)) api.registry.add(kinds)
  if (same(next, crd)) return
  const resource = api.registry.stored(definitions)
  const target = { namespace: undefined, name: crd.metadata.name, subresource: "status" }
  api.store.put(
    definitions,
    resource === undefined ? next : managed(api, { ...target, resource }, next, crd, "kube-apiserver")
  )
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
    for (const other of siblings(api, object)) accept(api, other)
    return
  }
  const current = api.store.get(definitions, key)
  if (current === undefined) return
  if (current.metadata.deletionTimestamp !== undefined) {
    terminate(api, current, place)
    return
  }
  if (before === undefined || !same(before["spec"], object["spec"])) {
    accept(api, current)
    for (const other of siblings(api, current)) if (!isEstablished(other)) accept(api, other)
  }
}
