/**
 * What the server itself writes into a CustomResourceDefinition.
 */
import type { Api } from "./api.ts"
import { at, fields, list, same, text, timestamp, withAt, withMeta, type Fields, type Obj } from "./json.ts"

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

/** Whether its kind is served. @internal */
export const isEstablished = (crd: Obj): boolean =>
  list(at(crd, "status", "conditions")).some((one) => at(one, "type") === "Established" && at(one, "status") === "True")

/** The status that a new definition has before it is accepted; a new storage version is remembered. @internal */
export const prepareDefinition = (crd: Obj, old: Obj | undefined): Obj => {
  const status = fields(crd["status"])
  const storage = list(at(crd, "spec", "versions")).find((version) => at(version, "storage") === true)
  const stored = list(status["storedVersions"])
  const name = text(at(storage, "name"))
  const moved = old === undefined || !same(old["spec"], crd["spec"])
  return withAt(crd, ["status"], {
    conditions: null,
    acceptedNames: { plural: "", kind: "" },
    ...status,
    storedVersions: !moved || name === "" || stored.includes(name) ? stored : [...stored, name]
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
