/**
 * What the server itself writes into a CustomResourceDefinition.
 */
import type { Api } from "./api.ts"
import { at, fields, list, text, timestamp, withAt, withMeta, type Fields, type Obj } from "./json.ts"

/** Where the definitions are stored. @internal */
export const definitions = "apiextensions.k8s.io/customresourcedefinitions"

/** @internal */
export const cleanup = "customresourcecleanup.apiextensions.k8s.io"

/** The definition with one of its conditions set. @internal */
export const condition = (
  crd: Obj,
  nowMs: number,
  type: string,
  status: string,
  reason: string,
  message: string
): Obj => {
  const conditions = list(at(crd, "status", "conditions")).map(fields)
  const known = conditions.find((one) => one["type"] === type)
  const next: Fields = {
    type,
    status,
    lastTransitionTime: known?.["status"] === status ? known["lastTransitionTime"] : timestamp(nowMs),
    reason,
    message
  }
  return withAt(crd, ["status", "conditions"], [...conditions.filter((one) => one["type"] !== type), next])
}

/** The status that a new definition has before it is accepted. @internal */
export const prepareDefinition = (crd: Obj, old: Obj | undefined): Obj => {
  const names = fields(at(crd, "spec", "names"))
  const kind = text(names["kind"])
  const named = withAt(crd, ["spec", "names"], {
    ...names,
    singular: text(names["singular"]) || kind.toLowerCase(),
    listKind: text(names["listKind"]) || `${kind}List`
  })
  const converted = withAt(named, ["spec", "conversion"], at(crd, "spec", "conversion") ?? { strategy: "None" })
  const storage = list(at(crd, "spec", "versions")).find((version) => at(version, "storage") === true)
  const stored = list(at(old, "status", "storedVersions"))
  const name = text(at(storage, "name"))
  return withAt(converted, ["status"], {
    conditions: null,
    acceptedNames: { plural: "", kind: "" },
    ...fields(converted["status"]),
    storedVersions: name === "" || stored.includes(name) ? stored : [...stored, name]
  })
}

/** Marks a definition so that its objects go first. @internal */
export const markDefinition = (crd: Obj, nowMs: number): Obj => {
  const finalizers = crd.metadata.finalizers ?? []
  if (finalizers.includes(cleanup)) return crd
  return condition(
    withMeta(crd, { finalizers: [...finalizers, cleanup] }),
    nowMs,
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will be initiated soon"
  )
}

/** The definition whose objects are stored there. @internal */
export const definitionOf = (api: Api, storage: string): Obj | undefined => {
  const [group = "", plural = ""] = storage.split("/")
  return api.store.get(definitions, `${plural}.${group}`)
}
