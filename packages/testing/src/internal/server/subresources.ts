/**
 * The subresources that are not simply a part of their object.
 */
import { json, type Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { badRequest, conflict, methodNotAllowed, noSuchResource, notFound } from "./apiError.ts"
import { mediaOf, optionalBody, parseBody } from "./body.ts"
import { deleteOptions, remove } from "./deletion.ts"
import { at, fields, keyOf, list, text, timestamp, withAt, type Fields } from "./json.ts"
import { podLog } from "./logs.ts"
import { applyPatchTo, patchIn } from "./patching.ts"
import type { ApiRequest, Target, WriteOptions } from "./request.ts"
import { scaleOf, writeScale } from "./scale.ts"
import { released } from "./strategy.ts"
import { issueToken } from "./tokens.ts"
import { existing } from "./updating.ts"

const scale = (api: Api, target: Target, request: ApiRequest, options: WriteOptions): Answer => {
  const present = scaleOf(target, existing(api, target))
  switch (request.method) {
    case "GET":
      return json(present)
    case "PUT":
      return json(writeScale(api, target, fields(parseBody(request, "Scale")), options))
    case "PATCH": {
      const patched = applyPatchTo(present, mediaOf(request.contentType), patchIn(request))
      return json(writeScale(api, target, fields(patched), options))
    }
    default:
      throw methodNotAllowed()
  }
}

const finalize = (api: Api, target: Target, request: ApiRequest): Answer => {
  if (request.method !== "PUT") throw methodNotAllowed()
  const old = existing(api, target)
  const finalizers = list(at(parseBody(request, "Namespace"), "spec", "finalizers"))
  const next = withAt(old, ["spec"], finalizers.length === 0 ? {} : { finalizers })
  if (released(next)) {
    api.store.remove("namespaces", keyOf(old.metadata))
    return json(next)
  }
  return json(api.store.put("namespaces", next))
}

const success: Fields = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }

const evict = (api: Api, target: Target, request: ApiRequest, { dryRun }: WriteOptions): Answer => {
  if (request.method !== "POST") throw methodNotAllowed()
  const body = optionalBody(request, "Eviction")
  remove(
    api,
    { ...target, subresource: undefined },
    deleteOptions(fields(body["deleteOptions"]), request.query, dryRun)
  )
  return json(success, { status: 201 })
}

const bind = (api: Api, target: Target, request: ApiRequest): Answer => {
  if (request.method !== "POST") throw methodNotAllowed()
  const pod = existing(api, target)
  const node = text(at(parseBody(request, "Binding"), "target", "name"))
  const present = text(at(pod, "spec", "nodeName"))
  if (present !== "") {
    throw conflict(
      { ...target.resource, plural: "pods/binding" },
      pod.metadata.name,
      `pod ${pod.metadata.name} is already assigned to node "${present}"`
    )
  }
  if (node === "") throw badRequest("target.name is required")
  const now = timestamp(api.time.nowMs())
  const scheduled = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: now }
  const others = list(at(pod, "status", "conditions")).filter((one) => at(one, "type") !== "PodScheduled")
  const bound = withAt(withAt(pod, ["spec", "nodeName"], node), ["status", "conditions"], [...others, scheduled])
  api.store.put("pods", bound)
  return json(success, { status: 201 })
}

/** @internal */
export const specialSubresource = (api: Api, target: Target, request: ApiRequest, options: WriteOptions): Answer => {
  const { resource, subresource } = target
  switch (`${resource.storage}/${subresource ?? ""}`) {
    case "pods/log":
      return podLog(api, target, request)
    case "pods/eviction":
      return evict(api, target, request, options)
    case "pods/binding":
      return bind(api, target, request)
    case "namespaces/finalize":
      return finalize(api, target, request)
    case "serviceaccounts/token":
      if (request.method !== "POST") throw methodNotAllowed()
      return json(issueToken(api, existing(api, target), fields(parseBody(request, "TokenRequest"))), { status: 201 })
    default:
      if (subresource === "scale" && resource.scale !== undefined) return scale(api, target, request, options)
      // A custom kind asks about the object by name, a built-in one knows its doors.
      throw resource.custom === undefined ? noSuchResource() : notFound(resource, target.name ?? "")
  }
}
