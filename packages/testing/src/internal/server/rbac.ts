/**
 * Who may do what, by the Roles and bindings of the cluster.
 */
import type { Api } from "./api.ts"
import { at, fields, list, text, type Fields, type Obj } from "./json.ts"
import type { User } from "./request.ts"

/** What somebody wants to do. @internal */
export type Access =
  | {
      readonly _tag: "Resource"
      readonly verb: string
      readonly group: string
      /** With its subresource: `pods/log`. */
      readonly resource: string
      readonly namespace: string
      readonly name: string
    }
  | { readonly _tag: "Path"; readonly verb: string; readonly path: string }

/** What the spec of an access review asks about. @internal */
export const accessOf = (spec: Fields): Access => {
  const path = spec["nonResourceAttributes"]
  if (path !== undefined) return { _tag: "Path", verb: text(at(path, "verb")), path: text(at(path, "path")) }
  const asked = fields(spec["resourceAttributes"])
  const subresource = text(asked["subresource"])
  return {
    _tag: "Resource",
    verb: text(asked["verb"]),
    group: text(asked["group"]),
    resource: `${text(asked["resource"])}${subresource === "" ? "" : `/${subresource}`}`,
    namespace: text(asked["namespace"]),
    name: text(asked["name"])
  }
}

const prefix = "rbac.authorization.k8s.io"

const isSubject = (user: User, subject: unknown): boolean => {
  const name = text(at(subject, "name"))
  switch (at(subject, "kind")) {
    case "User":
      return user.username === name
    case "Group":
      return user.groups.includes(name)
    case "ServiceAccount":
      return user.username === `system:serviceaccount:${text(at(subject, "namespace"))}:${name}`
    default:
      return false
  }
}

const rulesFor = (api: Api, user: User, binding: Obj): ReadonlyArray<Fields> => {
  if (!list(binding["subjects"]).some((subject) => isSubject(user, subject))) return []
  const role = text(at(binding, "roleRef", "name"))
  const found =
    at(binding, "roleRef", "kind") === "ClusterRole"
      ? api.store.get(`${prefix}/clusterroles`, role)
      : api.store.get(`${prefix}/roles`, `${binding.metadata.namespace ?? ""}/${role}`)
  return list(found?.["rules"]).map(fields)
}

/** The rules that hold for a user: everywhere, and in one namespace. */
const allRules = (api: Api, user: User, namespace: string): ReadonlyArray<Fields> => [
  ...api.store.all(`${prefix}/clusterrolebindings`).flatMap((binding) => rulesFor(api, user, binding)),
  ...(namespace === ""
    ? []
    : api.store
        .all(`${prefix}/rolebindings`)
        .filter(({ metadata }) => metadata.namespace === namespace)
        .flatMap((binding) => rulesFor(api, user, binding)))
]

const includes = (values: unknown, value: string): boolean => {
  const all = list(values)
  return all.includes("*") || all.includes(value)
}

const allows = (rule: Fields, access: Access): boolean => {
  if (!includes(rule["verbs"], access.verb)) return false
  if (access._tag === "Path") {
    return list(rule["nonResourceURLs"]).some((url) => {
      const pattern = text(url)
      return pattern.endsWith("*") ? access.path.startsWith(pattern.slice(0, -1)) : pattern === access.path
    })
  }
  const [, subresource] = access.resource.split("/")
  const names = list(rule["resourceNames"])
  return (
    includes(rule["apiGroups"], access.group) &&
    (includes(rule["resources"], access.resource) ||
      (subresource !== undefined && list(rule["resources"]).includes(`*/${subresource}`))) &&
    (names.length === 0 || names.includes(access.name))
  )
}

/** What everybody who is known may read and ask. */
const open = (access: Access): boolean =>
  access._tag === "Path"
    ? ["get", "head"].includes(access.verb) &&
      /^\/(?:apis?|openapi|version|healthz|livez|readyz)(?:\/|$)/u.test(access.path)
    : access.verb === "create" && /^selfsubject(?:access|rules)?reviews$/u.test(access.resource)

/** @internal */
export const permits = (api: Api, user: User, access: Access): boolean => {
  if (!api.rbac || user.groups.includes("system:masters")) return true
  if (user.groups.includes("system:authenticated") && open(access)) return true
  const namespace = access._tag === "Resource" ? access.namespace : ""
  return allRules(api, user, namespace).some((rule) => allows(rule, access))
}

/** The rules of a user, as a SelfSubjectRulesReview tells them. @internal */
export const rulesOf = (api: Api, user: User, namespace: string): Fields => {
  const all: ReadonlyArray<Fields> =
    !api.rbac || user.groups.includes("system:masters")
      ? [
          { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
          { verbs: ["*"], nonResourceURLs: ["*"] }
        ]
      : allRules(api, user, namespace)
  return {
    resourceRules: all.filter((rule) => rule["resources"] !== undefined),
    nonResourceRules: all.filter((rule) => rule["nonResourceURLs"] !== undefined)
  }
}
