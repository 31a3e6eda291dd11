/**
 * Finds out what a path means and has it answered.
 */
import { json, text, type Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { methodNotAllowed, noSuchResource } from "./apiError.ts"
import { aggregatedDiscovery, groupInfo, groupList, resourceList, virtualKinds } from "./discovery.ts"
import { formOf } from "./negotiation.ts"
import { openapiIndex, openapiOf, openapiV2 } from "./openapi.ts"
import type { ApiRequest } from "./request.ts"
import { resourceAnswer } from "./resourceRoutes.ts"
import { review } from "./reviews.ts"
import { serverVersion } from "./version.ts"

const pageNotFound = (): Answer => text("404 page not found\n", 404)

const discovery = (request: ApiRequest, core: boolean, api: Api): Answer => {
  const { form, version } = formOf(request.accept, ["discovery", "plain"])
  if (form === "discovery") {
    return json(aggregatedDiscovery(api.registry, core, version), {
      contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`
    })
  }
  if (!core) return json(groupList(api.registry))
  return json({ kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] })
}

/** What a path below a group and version leads to. */
const placeOf = (api: Api, group: string, version: string, rest: ReadonlyArray<string>) => {
  const [first = "", second, third, fourth, fifth] = rest
  const inNamespace = first === "namespaces" && second !== undefined && third !== undefined
  const own = inNamespace && ["status", "finalize"].includes(third) && fourth === undefined && group === ""
  const [namespace, plural, name, subresource] =
    inNamespace && !own ? [second, third, fourth, fifth] : [undefined, first, second, third]
  return { resource: api.registry.find(group, version, plural), namespace, name, subresource }
}

/** Whether a custom kind is not there, or looked for where its objects are not. */
const isNowhere = ({ name, namespace, resource }: ReturnType<typeof placeOf>, method: string): boolean =>
  resource === undefined ||
  (resource.namespaced ? namespace === undefined && (name !== undefined || method !== "GET") : namespace !== undefined)

/** Built-in groups answer for versions that they do not have, others are as if they were not there. */
const isBuiltin = ({ registry }: Api, group: string): boolean =>
  group === "" || registry.all.some((resource) => resource.group === group && resource.custom === undefined)

const grouped = (
  api: Api,
  request: ApiRequest,
  group: string,
  version: string,
  rest: ReadonlyArray<string>
): Answer => {
  if (rest.length === 0) {
    const known = resourceList(api.registry, group, version)
    if (known !== undefined) return json(known)
    if (isBuiltin(api, group)) throw noSuchResource()
    return pageNotFound()
  }
  const plural = rest[0] === "namespaces" && rest.length > 2 ? rest[2] : rest[0]
  const virtual = virtualKinds.find((one) => one.group === group && one.version === version && one.plural === plural)
  if (virtual !== undefined) {
    if (request.method !== "POST") throw methodNotAllowed()
    return review(api, virtual, request)
  }
  if (group !== "" && groupInfo(api.registry, group) === undefined) return pageNotFound()
  const { resource, ...place } = placeOf(api, group, version, rest)
  if (!isBuiltin(api, group) && isNowhere({ resource, ...place }, request.method)) return pageNotFound()
  if (resource === undefined || (place.namespace !== undefined && !resource.namespaced)) throw noSuchResource()
  return resourceAnswer(api, { resource, ...place }, request)
}

const openapi = (api: Api, request: ApiRequest): Answer => {
  const [, version, root, ...rest] = request.path
  formOf(request.accept, ["plain"])
  if (version === "v2") return json(openapiV2(api.registry))
  if (version !== "v3") return pageNotFound()
  if (root === undefined) return json(openapiIndex(api.registry))
  const [group = "", name = ""] = root === "api" ? ["", ...rest] : rest
  const document = openapiOf(api.registry, group, name)
  return document === undefined ? text("", 404) : json(document)
}

/** @internal */
export const route = (api: Api, request: ApiRequest): Answer => {
  const [root, first, second, ...rest] = request.path
  switch (root ?? "") {
    case "version":
      return json(serverVersion)
    case "healthz":
    case "livez":
    case "readyz":
      return text(request.query.has("verbose") ? `[+]ping ok\n${root} check passed\n` : "ok")
    case "api":
      if (first === undefined) return discovery(request, true, api)
      return grouped(api, request, "", first, second === undefined ? [] : [second, ...rest])
    case "apis": {
      if (first === undefined) return discovery(request, false, api)
      if (second !== undefined) return grouped(api, request, first, second, rest)
      const info = groupInfo(api.registry, first)
      return info === undefined ? pageNotFound() : json(info)
    }
    case "openapi":
      return openapi(api, request)
    default:
      return pageNotFound()
  }
}
