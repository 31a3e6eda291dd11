/**
 * Refuses requests that their user may not make.
 */
import type { IncomingHttpHeaders } from "node:http"
import type { Api } from "./api.ts"
import { ApiError, forbidden, unauthorized } from "./apiError.ts"
import { permits, type Access } from "./rbac.ts"
import type { ApiRequest, User } from "./request.ts"
import { userOf } from "./tokens.ts"

/** Who may do everything. @internal */
export const administrator: User = { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] }
const anonymous: User = { username: "system:anonymous", groups: ["system:unauthenticated"] }

const authenticated = (api: Api, authorization: string | undefined): User => {
  const token = /^Bearer\s+(\S+)$/iu.exec(authorization ?? "")?.[1]
  if (token === undefined) return api.rbac ? anonymous : administrator
  const user = userOf(api, token)
  if (user !== undefined) return user
  throw unauthorized()
}

const list = (value: string | ReadonlyArray<string> | undefined): ReadonlyArray<string> =>
  value === undefined ? [] : typeof value === "string" ? value.split(",").map((one) => one.trim()) : value

interface Account {
  readonly namespace: string
  readonly name: string
}

const accountOf = (username: string): Account | undefined => {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/u.exec(username) ?? []
  return namespace === undefined || name === undefined ? undefined : { namespace, name }
}

/** An account is in its groups, whoever acts for it. */
const accountGroups = (account: Account | undefined): ReadonlyArray<string> =>
  account === undefined ? [] : ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`]

/** Whom somebody wants to act for: an account by its namespace and name, anybody else as a user. */
const impersonated = (username: string, account: Account | undefined) => ({
  group: "",
  verb: "impersonate",
  ...(account === undefined
    ? { resource: "users", namespace: "", name: username }
    : { resource: "serviceaccounts", ...account })
})

/** Who sent a request with these headers, or whom they act for. @internal */
export const authenticate = (api: Api, headers: IncomingHttpHeaders): User => {
  const user = authenticated(api, headers.authorization)
  const [username] = list(headers["impersonate-user"])
  if (username === undefined) return user
  const account = accountOf(username)
  const access = impersonated(username, account)
  if (!permits(api, user, { _tag: "Resource", ...access })) {
    const { name, namespace, resource } = access
    const scope = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`
    const why = `User "${user.username}" cannot impersonate resource "${resource}" in API group "" ${scope}`
    const kind = account === undefined ? "User" : "ServiceAccount"
    throw forbidden({ group: "", kind, plural: resource }, name, why)
  }
  const groups = list(headers["impersonate-group"])
  return { username, groups: [...(groups.length > 0 ? groups : accountGroups(account)), "system:authenticated"] }
}

const verbs: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch" }

const verbOf = ({ method, query }: ApiRequest, named: boolean): string => {
  if (method === "GET") return query.has("watch") && query.get("watch") !== "false" ? "watch" : named ? "get" : "list"
  if (method === "DELETE") return named ? "delete" : "deletecollection"
  return verbs[method] ?? method.toLowerCase()
}

/** @internal */
export const accessFor = (request: ApiRequest): Access => {
  const { method, path } = request
  const core = path[0] === "api"
  const rest = path.slice(core ? 2 : 3)
  if ((!core && path[0] !== "apis") || rest.length === 0) {
    return { _tag: "Path", verb: method === "GET" ? "get" : method.toLowerCase(), path: `/${path.join("/")}` }
  }
  const [first = "", namespace = "", third] = rest
  const own = third === "status" || third === "finalize"
  const [plural = "", name, subresource] = first === "namespaces" && third !== undefined && !own ? rest.slice(2) : rest
  return {
    _tag: "Resource",
    verb: verbOf(request, name !== undefined),
    group: core ? "" : (path[1] ?? ""),
    resource: subresource === undefined ? plural : `${plural}/${subresource}`,
    namespace: first === "namespaces" ? namespace : "",
    name: name ?? ""
  }
}

/** @internal */
export const authorize = (api: Api, request: ApiRequest): void => {
  if (!api.rbac) return
  const access = accessFor(request)
  if (permits(api, request.user, access)) return
  const who = `User "${request.user.username}" cannot ${access.verb}`
  if (access._tag === "Path") {
    throw new ApiError(403, "Forbidden", `forbidden: ${who} path "${access.path}"`, {})
  }
  const { group, name, namespace, resource } = access
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`
  const [plural = ""] = resource.split("/")
  throw new ApiError(
    403,
    "Forbidden",
    `${group === "" ? plural : `${plural}.${group}`}${name === "" ? "" : ` "${name}"`} is forbidden: ${who} resource "${resource}" in API group "${group}" ${scope}`,
    { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: plural }
  )
}
