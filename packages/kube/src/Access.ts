/**
 * What a program asks of the API server, as data. Whoever writes a client call says so here: RBAC rules are made from it, and a test
 * compares it with what a running program has asked.
 *
 * **Details**
 * - An access is of one resource, in one namespace or in all of them. `create` comes with every `apply` of an object that may be
 *   missing: the server asks for both.
 *
 * @since 0.1.0
 */
import type * as Cache from "./Cache.ts"
import type * as Builtin from "./Builtin.ts"
import type { ResourceType } from "./ResourceType.ts"

/**
 * As RBAC calls them. A streaming list is a `watch`; `apply` is a `patch`.
 *
 * @category models
 * @since 0.1.0
 */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "bind" | "impersonate"

const order: ReadonlyArray<Verb> = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "bind",
  "impersonate"
]

/**
 * @category models
 * @since 0.1.0
 */
export interface Access {
  /** Empty for the core group. */
  readonly group: string
  /** The plural; a subresource after a slash: `pods/log`. */
  readonly resource: string
  readonly verbs: ReadonlyArray<Verb>
  /** Absent: in every namespace, or of a kind that lives in none. */
  readonly namespace?: string | undefined
  /** Only objects of these names. Absent: all of them. */
  readonly names?: ReadonlyArray<string> | undefined
}

/**
 * A rule of a Role or a ClusterRole.
 *
 * @category models
 * @since 0.1.0
 */
export type Rule = NonNullable<Builtin.Role["rules"]>[number]

/**
 * Access to a kind.
 *
 * @category constructors
 * @since 0.1.0
 */
export const to = (
  { group, plural }: ResourceType,
  verbs: ReadonlyArray<Verb>,
  {
    names,
    namespace,
    subresource
  }: Pick<Access, "names" | "namespace"> & {
    readonly subresource?: "status" | "scale" | undefined
  } = {}
): Access => ({
  group,
  resource: subresource === undefined ? plural : `${plural}/${subresource}`,
  verbs,
  namespace,
  ...(names === undefined ? {} : { names })
})

/**
 * What a cache needs: to list where the server offers no streaming lists, and to watch, in each of its namespaces.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofCache = (definition: Cache.AnyDefinition): ReadonlyArray<Access> =>
  definition.with(({ options, type }) =>
    (type.scope === "Cluster" ? [undefined] : (options.namespaces ?? [undefined])).map((namespace) =>
      to(type, ["list", "watch"], { namespace })
    )
  )

const keyOf = ({ group, names = [], resource }: Access, namespace: string): string =>
  JSON.stringify([namespace, group, resource, ...names])

/**
 * The same, where each resource is there once for each namespace, with all of its verbs, in a stable order. What is allowed in every
 * namespace is not said again for one.
 *
 * @category conversions
 * @since 0.1.0
 */
export const merged = (all: Iterable<Access>): ReadonlyArray<Access> => {
  const found = new Map<string, Access>()
  for (const each of all) {
    const key = keyOf(each, each.namespace ?? "")
    found.set(key, { ...each, verbs: [...(found.get(key)?.verbs ?? []), ...each.verbs] })
  }
  const everywhere = (access: Access) =>
    access.namespace === undefined ? [] : (found.get(keyOf(access, ""))?.verbs ?? [])
  return [...found]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, access]) => ({
      ...access,
      verbs: order.filter((verb) => access.verbs.includes(verb) && !everywhere(access).includes(verb))
    }))
    .filter(({ verbs }) => verbs.length > 0)
}

interface Grown {
  readonly apiGroups: [string]
  readonly resources: Array<string>
  readonly resourceNames?: Array<string>
  readonly verbs: Array<Verb>
}

/**
 * The rules for one namespace, or without one for the whole cluster. Resources of a group with the same verbs share a rule.
 *
 * **Example** (The rules of a reader)
 * ```ts
 * import * as Access from "@berth/kube/Access"
 * import * as Builtin from "@berth/kube/Builtin"
 *
 * export const reader = Access.rules([Access.to(Builtin.ConfigMap, ["get"]), Access.to(Builtin.Secret, ["get"])])
 * // [{ apiGroups: [""], resources: ["configmaps", "secrets"], verbs: ["get"] }]
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const rules = (all: Iterable<Access>, namespace?: string): ReadonlyArray<Rule> => {
  const found = new Map<string, Grown>()
  for (const { group, names, resource, verbs } of merged(all).filter((access) => access.namespace === namespace)) {
    const key = JSON.stringify([group, verbs, names])
    const rule = found.get(key)
    const named = names === undefined ? {} : { resourceNames: [...names] }
    if (rule === undefined) found.set(key, { apiGroups: [group], resources: [resource], ...named, verbs: [...verbs] })
    else rule.resources.push(resource)
  }
  return [...found.values()]
}
