/** Where the cluster serves a kind that is known by apiVersion and kind only. */
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import * as ResourceType from "@berth/kube/ResourceType"
import { Effect } from "effect"
import { isJsonObject } from "../json.ts"

type Types = ReadonlyMap<string, ResourceType.ResourceType>

const typesOf = (apiVersion: string, answer: unknown): Types => {
  const slash = apiVersion.indexOf("/")
  const [group, version] = slash < 0 ? ["", apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)]
  const resources = isJsonObject(answer) && Array.isArray(answer["resources"]) ? answer["resources"] : []
  const types = resources.filter(isJsonObject).flatMap(({ kind, name, namespaced }) => {
    // A name with a slash is a subresource.
    if (typeof kind !== "string" || typeof name !== "string" || name.includes("/")) return []
    const scope = namespaced === true ? "Namespaced" : "Cluster"
    return [[kind, ResourceType.make({ group, version, kind, plural: name, scope })] as const]
  })
  return new Map(types)
}

/** By client: each talks to a cluster of its own. What a cluster serves changes, so only what is known is remembered. */
const known = new WeakMap<Client.Client["Service"], Map<string, Types>>()

/** The resource type; undefined where the cluster does not know the kind. */
export const find = Effect.fnUntraced(function* (
  apiVersion: string,
  kind: string
): Effect.fn.Return<ResourceType.ResourceType | undefined, KubeError.KubeError, Client.Client> {
  const client = yield* Client.Client
  const byVersion = known.get(client) ?? new Map<string, Types>()
  known.set(client, byVersion)
  const found = byVersion.get(apiVersion)?.get(kind)
  if (found !== undefined) return found
  const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const answer = yield* Effect.catchTag(client.getPath(path), "NotFound", () => Effect.void)
  const types = typesOf(apiVersion, answer)
  byVersion.set(apiVersion, types)
  return types.get(kind)
})
