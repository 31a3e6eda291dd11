/**
 * The body of a request as an object of the kind that the request is about.
 */
import { parse as parseYaml } from "yaml"
import { type ApiError, badRequest, causes, invalid, unsupportedMediaType } from "./apiError.ts"
import type { Schema } from "../engines/schema.ts"
import { typeFault } from "../engines/typeFaults.ts"
import { checkFields, checkTypes } from "./fieldValidation.ts"
import { at, fields, isFields, text, type Fields, type Meta, type Obj } from "./json.ts"
import { metaFields } from "./metaFields.ts"
import { decodeDeleteOptions, decodeProtobuf } from "./protobuf.ts"
import type { ApiRequest, Target, WriteOptions } from "./request.ts"
import type { Resource } from "./resource.ts"
import { apiVersionOf } from "./served.ts"

const protobuf = "application/vnd.kubernetes.protobuf"
const mediaTypes = ["application/json", "application/yaml", protobuf]

/** @internal */
export const mediaOf = (contentType: string): string => contentType.split(";")[0]?.trim().toLowerCase() ?? ""

const why = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Of YAML 1.1, as the server reads it: `y` is true, and of a key that is given twice the last counts. */
const yamlOf = (body: string): unknown =>
  parseYaml(body, {
    version: "1.1",
    uniqueKeys: false,
    customTags: (tags) => tags.filter((tag) => typeof tag === "string" || !foreignTags.has(tag.tag))
  })

/** The types that YAML 1.1 has and the server does not. */
const foreignTags: ReadonlySet<string> = new Set(["tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:binary"])

/** The JSON or YAML of a body, whatever it holds. @internal */
export const parseBody = (request: ApiRequest, what: string): unknown => {
  const media = mediaOf(request.contentType)
  if (media === protobuf) {
    const decoded = decodeProtobuf(request.bytes)
    if (decoded === undefined) throw unsupportedMediaType(["application/json", "application/yaml"])
    return decoded
  }
  try {
    if (media.includes("yaml")) return yamlOf(request.body)
    return JSON.parse(request.body)
  } catch (cause) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${what}): couldn't get version/kind; json parse error: ${why(cause)}`
    )
  }
}

/** A body that may be absent. @internal */
export const optionalBody = (request: ApiRequest, what: string): Fields =>
  request.body.trim() === "" ? {} : fields(parseBody(request, what))

const checkMedia = (request: ApiRequest): void => {
  const media = mediaOf(request.contentType)
  if (media !== "" && !mediaTypes.includes(media)) {
    throw unsupportedMediaType(mediaTypes)
  }
}

/** The options in the body of a delete, which may be absent. @internal */
export const deleteBody = (request: ApiRequest): Fields => {
  if (request.bytes.length === 0) return {}
  checkMedia(request)
  if (mediaOf(request.contentType) === protobuf) return decodeDeleteOptions(request.bytes)
  const body = deleteJson(request)
  const kind = text(body["kind"])
  if (kind !== "" && kind !== "DeleteOptions") {
    const version = text(body["apiVersion"])
    throw badRequest(`no kind "${kind}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:111"`)
  }
  const fault = typeFault(deleteSchema, body)
  if (fault !== undefined) throw badRequest(fault)
  return body
}

const deleteSchema: Schema = {
  type: "object",
  properties: {
    dryRun: { type: "array", items: { type: "string" } },
    gracePeriodSeconds: { type: "integer" },
    orphanDependents: { type: "boolean" },
    preconditions: { type: "object", properties: { uid: { type: "string" }, resourceVersion: { type: "string" } } },
    propagationPolicy: { type: "string" }
  }
}

/** The JSON or YAML of the options, which need not name their kind. */
const deleteJson = (request: ApiRequest): Fields => {
  let body: unknown
  try {
    body = mediaOf(request.contentType).includes("yaml") ? yamlOf(request.body) : JSON.parse(request.body)
  } catch (cause) {
    throw badRequest(`couldn't get version/kind; json parse error: ${why(cause)}`)
  }
  if (isFields(body)) return body
  const type = Array.isArray(body) ? "array" : typeof body
  throw badRequest(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${type} into Go value of type struct`
  )
}

const refuseType = (resource: Resource, apiVersion: string, kind: string, why: string): ApiError =>
  badRequest(
    `${kind} in version "${apiVersion.split("/").at(-1) ?? ""}" cannot be handled as a ${resource.kind}: ${why}`
  )

const checkCustomType = (resource: Resource, object: Fields): void => {
  const kind = text(object["kind"])
  const apiVersion = text(object["apiVersion"])
  const expected = apiVersionOf(resource)
  if (kind === "") {
    const sent = JSON.stringify(object)
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): Object 'Kind' is missing in '${sent}' (${sent.slice(0, 30)} ...)`
    )
  }
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`
    )
  }
  if (kind === resource.kind) return
  const name = text(at(object, "metadata", "name"))
  throw invalid({ group: resource.group, kind }, name, [causes.invalid("kind", kind, `must be ${resource.kind}`)])
}

const checkType = (resource: Resource, object: Fields): void => {
  if (resource.custom !== undefined) {
    checkCustomType(resource, object)
    return
  }
  const kind = text(object["kind"])
  const apiVersion = text(object["apiVersion"])
  if (apiVersion !== "" && apiVersion !== apiVersionOf(resource)) {
    const why = `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:111"`
    throw refuseType(resource, apiVersion, kind, why)
  }
  if (kind !== "" && kind !== resource.kind) {
    const { version } = resource
    const why = `converting (${version}.${kind}) to (core.${resource.kind}): unknown conversion`
    throw refuseType(resource, version, kind, why)
  }
}

/** Labels and annotations are texts: a null among them is an empty one. */
const textsOf = (value: unknown): unknown =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, item === null ? "" : item]))
    : value

const cleaned = (meta: Fields): Meta => {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(meta)) {
    const empty = isFields(value) ? Object.keys(value).length === 0 : Array.isArray(value) && value.length === 0
    if (!metaFields.has(name) || value === null || value === "" || (empty && name !== "managedFields")) continue
    kept[name] = name === "labels" || name === "annotations" ? textsOf(value) : value
  }
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
    metadata: resource.namespaced ? { ...metadata, namespace } : clusterWide,
    ...rest
  }
}

/** @internal */
export const objectIn = (target: Target, request: ApiRequest, options: WriteOptions): Obj => {
  checkMedia(request)
  const media = mediaOf(request.contentType)
  const body = parseBody(request, target.resource.kind)
  checkTypes(target.resource, fields(body))
  checkFields(target.resource, fields(body), options, media.endsWith("json") ? request.body : undefined)
  return objectOf(target, body)
}
