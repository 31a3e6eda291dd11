/**
 * The body of a request as an object of the kind that the request is about.
 */
import { parse as parseYaml } from "yaml"
import { badRequest, unsupportedMediaType } from "./apiError.ts"
import { fields, groupOf, isFields, text, type Fields, type Meta, type Obj } from "./json.ts"
import type { ApiRequest, Target } from "./request.ts"
import type { Resource } from "./resource.ts"
import { apiVersionOf } from "./served.ts"

const mediaTypes = ["application/json", "application/yaml"]

/** @internal */
export const mediaOf = (contentType: string): string => contentType.split(";")[0]?.trim().toLowerCase() ?? ""

const why = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** The JSON or YAML of a body, whatever it holds. @internal */
export const parseBody = (request: ApiRequest, what: string): unknown => {
  const media = mediaOf(request.contentType)
  try {
    if (media.includes("yaml")) return parseYaml(request.body)
    return JSON.parse(request.body)
  } catch (cause) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${what}): couldn't get version/kind; json parse error: ${why(cause)}`
    )
  }
}

/** A body that may be absent, such as that of a delete. @internal */
export const optionalBody = (request: ApiRequest, what: string): Fields =>
  request.body.trim() === "" ? {} : fields(parseBody(request, what))

const checkType = (resource: Resource, object: Fields): void => {
  const kind = text(object["kind"])
  const apiVersion = text(object["apiVersion"])
  const expected = apiVersionOf(resource)
  if (resource.custom !== undefined) {
    if (kind === "") throw badRequest("Object 'Kind' is missing in the object")
    if (kind !== resource.kind || groupOf(apiVersion) !== resource.group || apiVersion !== expected) {
      throw badRequest(
        `${kind} in version "${apiVersion.split("/").at(-1) ?? ""}" cannot be handled as a ${resource.kind}: the API version or kind does not match ${expected}, Kind=${resource.kind}`
      )
    }
    return
  }
  if (apiVersion !== "" && apiVersion !== expected) {
    throw badRequest(
      `${kind} in version "${apiVersion.split("/").at(-1) ?? ""}" cannot be handled as a ${resource.kind}: no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`
    )
  }
  if (kind !== "" && kind !== resource.kind) {
    throw badRequest(
      `${kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: converting (${resource.version}.${kind}) to (core.${resource.kind}): unknown conversion`
    )
  }
}

const cleaned = (meta: Fields): Meta => {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(meta)) {
    const empty = isFields(value) ? Object.keys(value).length === 0 : Array.isArray(value) && value.length === 0
    if (value !== null && value !== "" && !(empty && name !== "managedFields")) kept[name] = value
  }
  delete kept["selfLink"]
  return { name: "", uid: "", resourceVersion: "", ...kept }
}

/** An object out of what a client sent: typed, placed, with no empty metadata. @internal */
export const objectOf = (target: Target, sent: unknown): Obj => {
  const { namespace, resource } = target
  if (!isFields(sent)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind}): it is not an object`)
  }
  checkType(resource, sent)
  const metadata = cleaned(fields(sent["metadata"]))
  if (metadata.namespace !== undefined && metadata.namespace !== namespace && resource.namespaced) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
  }
  const { metadata: _, apiVersion: __, kind: ___, ...rest } = sent
  const { namespace: ____, ...clusterWide } = metadata
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: (resource.namespaced ? { ...metadata, namespace } : clusterWide) as Meta,
    ...rest
  }
}

/** @internal */
export const objectIn = (target: Target, request: ApiRequest): Obj => {
  const media = mediaOf(request.contentType)
  if (media !== "" && !mediaTypes.includes(media) && media !== "application/x-www-form-urlencoded") {
    throw unsupportedMediaType(mediaTypes)
  }
  return objectOf(target, parseBody(request, target.resource.kind))
}
