/**
 * Changes an object by a patch: merge, JSON, strategic merge, or server-side apply.
 */
import { apply, conflictMessage, type Conflict } from "../engines/managedFields.ts"
import { withObjectMeta } from "../engines/objectMeta.ts"
import { jsonPatch, mergePatch } from "../engines/patch.ts"
import { strategicMerge } from "../engines/strategicMerge.ts"
import {
  ApiError,
  badRequest,
  causes,
  conflict,
  internal,
  invalid,
  invalidOptions,
  notFound,
  unsupportedMediaType,
  unsupportedPatchType
} from "./apiError.ts"
import type { Api } from "./api.ts"
import { mediaOf, objectOf, parseBody } from "./body.ts"
import { create } from "./creating.ts"
import { checkApplied, checkPatched } from "./fieldValidation.ts"
import { at, type Fields, isFields, text, withMeta, type Obj } from "./json.ts"
import { schemaOf } from "./kindSchema.ts"
import { writerOf } from "./managing.ts"
import { flag, type ApiRequest, type Target, type WriteOptions } from "./request.ts"
import type { Resource } from "./resource.ts"
import { apiVersionOf, toServed } from "./served.ts"
import { existing, stored, update } from "./updating.ts"

const json = "application/json-patch+json"
const merge = "application/merge-patch+json"
const strategic = "application/strategic-merge-patch+json"
const applyType = "application/apply-patch+yaml"

const operationsMax = 10_000

const tooManyOperations = (count: number): ApiError =>
  new ApiError(
    413,
    "RequestEntityTooLarge",
    `Request entity too large: The allowed maximum operations in a JSON patch is ${operationsMax}, got ${count}`
  )

/** A value with a patch of one of the three plain types applied. @internal */
export const applyPatchTo = (live: unknown, media: string, patch: unknown, resource?: Resource): unknown => {
  switch (media) {
    case merge:
      return mergePatch(live, patch)
    case json: {
      if (Array.isArray(patch) && patch.length > operationsMax) throw tooManyOperations(patch.length)
      // A patch that is null has no operations.
      const done = jsonPatch(live, patch ?? [])
      if ("ok" in done) return done.ok
      throw done.status === 400
        ? badRequest("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")
        : new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    }
    case strategic: {
      if (resource?.custom !== undefined) throw unsupportedMediaType([json, merge, applyType])
      const done = strategicMerge(live, patch, resource === undefined ? {} : withObjectMeta(schemaOf(resource)))
      if ("ok" in done) return done.ok
      throw done.status === 400 ? badRequest(done.error) : new ApiError(done.status, "", done.error)
    }
    default:
      throw unsupportedPatchType()
  }
}

const patchTypes = [json, merge, strategic]

/** The JSON of a patch. @internal */
export const patchIn = ({ body }: ApiRequest): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    throw badRequest("error decoding patch: unexpected end of JSON input")
  }
}

const checkParameters = ({ query }: ApiRequest, media: string): void => {
  if (media === applyType) {
    if (query.get("fieldManager")) return
    throw invalidOptions("PatchOptions", causes.required("fieldManager", "is required for apply patch"))
  }
  if (query.has("force")) {
    throw invalidOptions("PatchOptions", causes.forbidden("force", "may not be specified for non-apply patch"))
  }
}

/** @internal */
export interface Patched {
  readonly object: Obj
  readonly created: boolean
}

const conflictOf = (conflicts: ReadonlyArray<Conflict>): ApiError =>
  new ApiError(409, "Conflict", conflictMessage(conflicts), {
    causes: conflicts.map(({ field, manager }) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${manager}`,
      field
    }))
  })

const checkName = (target: Target, name: string): void => {
  if (name === target.name) return
  if (name === "") {
    throw badRequest(
      `the name of the object (${target.name ?? ""} based on URL) was undeterminable: name must be provided`
    )
  }
  throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name ?? ""})`)
}

/** Server-side apply, which also creates. */
const applied = (api: Api, target: Target, request: ApiRequest, options: WriteOptions): Patched => {
  const { resource } = target
  const body = parseBody(request, resource.kind)
  if (!isFields(body)) {
    const type = Array.isArray(body) ? "array" : typeof body
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`
    )
  }
  const apiVersion = text(body["apiVersion"])
  const kind = text(body["kind"])
  if (apiVersion !== apiVersionOf(resource) || kind !== resource.kind) {
    throw badRequest(`invalid object type: ${apiVersion.includes("/") ? "" : "/"}${apiVersion}, Kind=${kind}`)
  }
  if (at(body, "metadata", "managedFields") !== undefined) throw badRequest("metadata.managedFields must be nil")
  const sent = objectOf(target, body)
  const live = stored(api, target)
  if (live === undefined && target.subresource !== undefined) throw notFound(resource, target.name ?? "")
  const { name, resourceVersion, uid } = sent.metadata
  checkApplied(resource, body)
  // An object that is there gives its name to what has none.
  if (live === undefined || name !== "") checkName(target, name)
  if (live === undefined && uid !== "") {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
    throw conflict(resource, target.name ?? "", why)
  }
  const bare = withMeta(sent, {
    name: name === "" ? undefined : name,
    uid: uid === "" ? undefined : uid,
    resourceVersion: resourceVersion === "" ? undefined : resourceVersion
  })
  const result = apply({
    ...writerOf(api, target, options.manager),
    live: live === undefined ? undefined : toServed(resource, live),
    applied: bare,
    force: request.query.has("force") && flag(request.query, "force")
  })
  if ("conflicts" in result) throw conflictOf(result.conflicts)
  const object = objectOf(target, result.ok)
  const kept = { ...options, managersKept: true }
  return live === undefined
    ? // Unlike a POST, an apply that creates may name a version; it means nothing then.
      { object: create(api, target, withMeta(object, { resourceVersion: "" }), kept), created: true }
    : { object: update(api, target, object, { ...kept, isPatch: true }), created: false }
}

const wrongPatch = (result: unknown, why: string): ApiError =>
  invalid({ group: "", kind: "" }, "", [causes.invalid("patch", JSON.stringify(result), why)])

/** Nor one of a custom kind, whose type has to stand in it. */
const checkCustomKept = (resource: Resource, result: Fields): void => {
  const kind = text(result["kind"])
  const apiVersion = text(result["apiVersion"])
  const expected = apiVersionOf(resource)
  if (kind === "") throw wrongPatch(result, "Object 'Kind' is missing")
  if (apiVersion === "") throw internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
  if (apiVersion === expected) return
  const { group = "" } = /^(?<group>.+)\//u.exec(apiVersion)?.groups ?? {}
  throw invalid({ group, kind }, text(at(result, "metadata", "name")), [
    causes.invalid("apiVersion", apiVersion, `must be ${expected}`)
  ])
}

/** A patch of a built-in kind cannot make it another one. */
const checkKept = (resource: Resource, result: Fields): void => {
  if (resource.custom !== undefined) {
    checkCustomKept(resource, result)
    return
  }
  const { apiVersion = apiVersionOf(resource), kind = resource.kind } = result
  // What names no kind is read as the one of the path.
  if (kind === resource.kind && apiVersion === apiVersionOf(resource)) return
  throw wrongPatch(result, `unable to decode it as ${resource.kind}`)
}

/** @internal */
export const patch = (api: Api, target: Target, request: ApiRequest, options: WriteOptions): Patched => {
  const media = mediaOf(request.contentType)
  checkParameters(request, media)
  if (media === applyType) return applied(api, target, request, options)
  if (!patchTypes.includes(media)) throw unsupportedPatchType()
  const live = toServed(target.resource, existing(api, target))
  const change = patchIn(request)
  if (media !== json && !isFields(change)) {
    if (change === null) throw badRequest("Invalid JSON Patch")
    const type = Array.isArray(change) ? "array" : typeof change
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`
    )
  }
  const result = applyPatchTo(live, media, change, target.resource)
  if (!isFields(result)) {
    throw invalid({ group: "", kind: "" }, "", [causes.invalid("patch", result, "the result is not an object")])
  }
  checkKept(target.resource, result)
  checkPatched(target.resource, result, options)
  return { object: update(api, target, objectOf(target, result), { ...options, isPatch: true }), created: false }
}
