/**
 * Which objects of a collection a request is about.
 */
import {
  type FieldSelector,
  matchFields,
  matchLabels,
  parseFieldSelector,
  parseLabelSelector,
  type Parsed
} from "../engines/selectors.ts"
import { badRequest } from "./apiError.ts"
import { at, shown, type Obj } from "./json.ts"
import type { ApiRequest, Target } from "./request.ts"
import type { Resource } from "./resource.ts"

/** @internal */
export type Selection = (object: Obj) => boolean

const accepted = <A>(parsed: Parsed<A>): A => {
  if ("error" in parsed) throw badRequest(parsed.error)
  return parsed.ok
}

/** The value that a field selector compares. */
const selectableValue = (object: Obj, field: string): string => {
  if (field === "source" && object.kind === "Event") return shown(at(object, "source", "component"))
  return shown(at(object, ...field.split(".")))
}

const unknownField = ({ custom, selectable, storage }: Resource, field: string): string => {
  if (storage === "batch/jobs") return `field label ${JSON.stringify(field)} not supported for Job`
  return custom === undefined && selectable.length === 0
    ? `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
    : `field label not supported: ${field}`
}

const checkField = (resource: Resource, field: string): void => {
  const known = ["metadata.name", ...(resource.namespaced ? ["metadata.namespace"] : []), ...resource.selectable]
  if (!known.includes(field)) throw badRequest(unknownField(resource, field))
}

const fieldsOf = (request: ApiRequest): FieldSelector =>
  accepted(parseFieldSelector(request.query.get("fieldSelector") ?? ""))

/** Whether an object is one of those that are looked at: in the namespace, and the one that a selector names. @internal */
export const isWithin = ({ namespace }: Target, request: ApiRequest): Selection => {
  const name = fieldsOf(request).find(({ equals, field }) => equals && field === "metadata.name")?.value
  return ({ metadata }) =>
    (namespace === undefined || metadata.namespace === namespace) && (name === undefined || metadata.name === name)
}

/** @internal */
export const selectionOf = (target: Target, request: ApiRequest): Selection => {
  const { name, resource } = target
  const within = isWithin(target, request)
  const labels = accepted(parseLabelSelector(request.query.get("labelSelector") ?? ""))
  const wanted = fieldsOf(request)
  for (const { field } of wanted) checkField(resource, field)
  return (stored) => {
    const { metadata } = stored
    if (!within(stored)) return false
    if (name !== undefined && metadata.name !== name) return false
    if (!matchLabels(labels, metadata.labels)) return false
    if (wanted.length === 0) return true
    const shown = resource.convert?.to(stored) ?? stored
    return matchFields(wanted, (field) => selectableValue(shown, field))
  }
}
