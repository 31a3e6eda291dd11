/** Requests as the API server wants them. */
import type { Duration } from "effect"
import { Effect } from "effect"
import * as KubeError from "../KubeError.ts"
import type { Ref } from "../KubeObject.ts"
import * as ResourceType from "../ResourceType.ts"
import type { TransportRequest } from "../Transport.ts"
import type { Call } from "./exchange.ts"

type Query = Readonly<Record<string, string | undefined>>

interface Common {
  readonly verb: string
  readonly method: TransportRequest["method"]
  readonly type: ResourceType.ResourceType
  readonly query?: Query
  readonly accept?: string
  readonly contentType?: string
  readonly body?: object
  readonly deadline: Duration.Input | undefined
}

const withQuery = (path: string, query: Query): string => {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}

const isSecret = ({ group, plural }: ResourceType.ResourceType): boolean => group === "" && plural === "secrets"

const build = (common: Common, path: string, about: KubeError.Request): Call => ({
  about,
  secret: isSecret(common.type),
  method: common.method,
  path: withQuery(path, common.query ?? {}),
  headers: {
    accept: common.accept ?? "application/json",
    ...(common.body === undefined ? {} : { "content-type": common.contentType ?? "application/json" })
  },
  body: common.body === undefined ? undefined : JSON.stringify(common.body),
  deadline: common.deadline
})

/** What is asked of a collection. */
export const collection = (common: Common & { readonly namespace: string | undefined }): Call =>
  build(common, ResourceType.collectionPath(common.type, common.namespace), {
    verb: common.verb,
    resource: ResourceType.qualified(common.type),
    namespace: common.namespace,
    name: undefined
  })

const refused = (about: KubeError.Request, field: string, reason: string, message: string) =>
  new KubeError.Invalid({
    ...about,
    status: 422,
    reason: "Invalid",
    detail: message,
    causes: [{ field, reason, message }]
  })

/**
 * What is asked of one object. A path without its namespace or name would mean a collection, or nothing at all, which the
 * server answers with "not found": such a request is refused here.
 */
export const object = (
  common: Common & { readonly ref: Partial<Ref>; readonly subresource?: string | undefined }
): Effect.Effect<Call, KubeError.Invalid> => {
  const { ref, subresource, type, verb } = common
  const { name, namespace } = ref
  const resource = `${ResourceType.qualified(type)}${subresource === undefined ? "" : `/${subresource}`}`
  const about = { verb, resource, namespace, name }
  if (type.scope === "Namespaced" && (namespace === undefined || namespace === "")) {
    return Effect.fail(refused(about, "metadata.namespace", "FieldValueRequired", `${type.kind} lives in a namespace`))
  }
  if (verb === "create") {
    return Effect.succeed(build(common, ResourceType.collectionPath(type, namespace), about))
  }
  if (name === undefined || name === "" || name === "." || name === "..") {
    return Effect.fail(refused(about, "metadata.name", "FieldValueRequired", "one object is meant"))
  }
  const path = ResourceType.objectPath(type, { name, namespace })
  return Effect.succeed(build(common, subresource === undefined ? path : `${path}/${subresource}`, about))
}

/** A path of no known kind. What is read there is not quoted either where it could be Secrets. */
export const path = (path: string, deadline: Duration.Input | undefined): Call => ({
  about: { verb: "get", resource: path.split("?")[0] ?? path, namespace: undefined, name: undefined },
  secret: /\/secrets(\/|\?|$)/.test(path),
  method: "GET",
  path: path.startsWith("/") ? path : `/${path}`,
  headers: { accept: "application/json" },
  deadline
})
