/**
 * Which objects of a collection a request is about.
 */
import { matchFields, matchLabels, parseFieldSelector, parseLabelSelector, type Parsed } from "../engines/selectors.ts"
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

const checkField = (resource: Resource, field: string): void => {
  const known = ["metadata.name", ...(resource.namespaced ? ["metadata.namespace"] : []), ...resource.selectable]
  if (known.includes(field)) return
  throw resource.custom === undefined && resource.selectable.length === 0
    ? badRequest(`${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`)
    : badRequest(`field label not supported: ${field}`)
}

/** @internal */
export const selectionOf = (target: Target, request: ApiRequest): Selection => {
  const { name, namespace, resource } = target
  const labels = accepted(parseLabelSelector(request.query.get("labelSelector") ?? ""))
  const wanted = accepted(parseFieldSelector(request.query.get("fieldSelector") ?? ""))
  for (const { field } of wanted) checkField(resource, field)
  return (stored) => {
    const { metadata } = stored
    if (namespace !== undefined && metadata.namespace !== namespace) return false
    if (name !== undefined && metadata.name !== name) return false
    if (!matchLabels(labels, metadata.labels)) return false
    if (wanted.length === 0) return true
    const shown = resource.convert?.to(stored) ?? stored
    return matchFields(wanted, (field) => selectableValue(shown, field))
  }
}
