/**
 * Changes an object by a patch: merge, JSON, strategic merge, or server-side apply.
 */
import { jsonPatch, mergePatch } from "../engines/patch.ts"
import { strategicMerge } from "../engines/strategicMerge.ts"
import { ApiError, badRequest, causes, invalid, invalidOptions, unsupportedMediaType } from "./apiError.ts"
import type { Api } from "./api.ts"
import { mediaOf, objectOf, parseBody } from "./body.ts"
import type { Obj } from "./json.ts"
import type { ApiRequest, Target } from "./request.ts"
import type { Resource } from "./resource.ts"
import { toServed } from "./served.ts"
import { existing, update, type WriteOptions } from "./writing.ts"

const json = "application/json-patch+json"
const merge = "application/merge-patch+json"
const strategic = "application/strategic-merge-patch+json"

/** @internal */
export const applyType = "application/apply-patch+yaml"

/** A value with a patch of one of the three plain types applied. @internal */
export const applyPatchTo = (live: unknown, media: string, patch: unknown, resource?: Resource): unknown => {
  switch (media) {
    case merge:
      return mergePatch(live, patch)
    case json: {
      const done = jsonPatch(live, patch)
      if ("ok" in done) return done.ok
      throw done.status === 400
        ? badRequest("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")
        : new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    }
    case strategic: {
      if (resource?.custom !== undefined) throw unsupportedMediaType([json, merge, applyType])
      const done = strategicMerge(live, patch, {})
      if ("ok" in done) return done.ok
      throw badRequest(done.error)
    }
    default:
      throw unsupportedMediaType([json, merge, strategic, applyType])
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

/** @internal */
export const patch = (api: Api, target: Target, request: ApiRequest, options: WriteOptions): Patched => {
  const media = mediaOf(request.contentType)
  checkParameters(request, media)
  const live = toServed(target.resource, existing(api, target))
  const result = applyPatchTo(live, media, parseBody(request, target.resource.kind), target.resource)
  if (typeof result !== "object" || result === null) {
    throw invalid({ group: "", kind: "" }, "", [causes.invalid("patch", result, "the result is not an object")])
  }
  return { object: update(api, target, objectOf(target, result), options), created: false }
}
