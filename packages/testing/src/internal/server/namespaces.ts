/**
 * The life of namespaces: what each of them has from the start, and how it empties before it goes.
 */
import type { Api } from "./api.ts"
import { collect } from "./deletion.ts"
import { keyOf, list, at, same, timestamp, withAt, withMeta, type Meta, type Obj } from "./json.ts"

/** @internal */
export const firstNamespaces: ReadonlyArray<string> = ["default", "kube-node-lease", "kube-public", "kube-system"]

const made = (api: Api, apiVersion: string, kind: string, name: string, namespace?: string): Obj => ({
  apiVersion,
  kind,
  metadata: {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: crypto.randomUUID(),
    creationTimestamp: timestamp(api.time.nowMs())
  } as Meta
})

/** @internal */
export const addNamespace = (api: Api, name: string): void => {
  const bare = made(api, "v1", "Namespace", name)
  api.store.put("namespaces", {
    ...withMeta(bare, { labels: { "kubernetes.io/metadata.name": name } }),
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" }
  })
}

const furnish = (api: Api, namespace: string): void => {
  if (api.store.get("serviceaccounts", `${namespace}/default`) === undefined) {
    api.store.put("serviceaccounts", made(api, "v1", "ServiceAccount", "default", namespace))
  }
  if (api.store.get("configmaps", `${namespace}/kube-root-ca.crt`) === undefined) {
    const annotations = {
      "kubernetes.io/description":
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
    }
    api.store.put("configmaps", {
      ...withMeta(made(api, "v1", "ConfigMap", "kube-root-ca.crt", namespace), { annotations }),
      data: { "ca.crt": api.caCertificate }
    })
  }
}

const contents = (api: Api, namespace: string) =>
  api.store
    .storages()
    .filter((storage) => api.registry.stored(storage)?.namespaced === true)
    .flatMap((storage) =>
      api.store
        .all(storage)
        .filter((object) => object.metadata.namespace === namespace)
        .map((object) => ({ storage, object }))
    )

const byName = ([a]: readonly [string, number], [b]: readonly [string, number]): number => (a < b ? -1 : 1)

const counted = (items: ReadonlyArray<string>): string => {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return [...counts]
    .sort(byName)
    .map(([item, count]) => `${item} in ${count} resource instances`)
    .join(", ")
}

/** What `kubectl describe namespace` shows of a namespace that cannot go yet. */
const conditionsOf = (api: Api, namespace: Obj, left: ReturnType<typeof contents>): ReadonlyArray<unknown> => {
  const finalizers = left.flatMap(({ object }) => object.metadata.finalizers ?? [])
  const kinds = left.map(({ storage }) => {
    const resource = api.registry.stored(storage)
    return `${resource?.plural ?? ""}.${resource?.group ?? ""}`
  })
  const counts = new Map(kinds.map((kind) => [kind, kinds.filter((other) => other === kind).length]))
  const remaining = [...counts].sort(byName).map(([kind, count]) => `${kind} has ${count} resource instances`)
  const wanted = [
    ["NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"],
    [
      "NamespaceDeletionGroupVersionParsingFailure",
      "False",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed"
    ],
    [
      "NamespaceDeletionContentFailure",
      "False",
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization"
    ],
    [
      "NamespaceContentRemaining",
      "True",
      "SomeResourcesRemain",
      `Some resources are remaining: ${remaining.join(", ")}`
    ],
    finalizers.length > 0
      ? [
          "NamespaceFinalizersRemaining",
          "True",
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${counted(finalizers)}`
        ]
      : [
          "NamespaceFinalizersRemaining",
          "False",
          "ContentHasNoFinalizers",
          "All content-preserving finalizers finished"
        ]
  ]
  const old = list(at(namespace, "status", "conditions"))
  return wanted.map(([type, status, reason, message]) => {
    const known = old.find((condition) => at(condition, "type") === type && at(condition, "status") === status)
    const since = at(known, "lastTransitionTime") ?? timestamp(api.time.nowMs())
    return { type, status, lastTransitionTime: since, reason, message }
  })
}

/** Empties a namespace that is being deleted, and lets it go once it is empty. */
const terminate = (api: Api, name: string): void => {
  for (const { object, storage } of contents(api, name)) {
    if (object.metadata.deletionTimestamp === undefined) collect(api, storage, object, "Background")
  }
  const namespace = api.store.get("namespaces", name)
  if (namespace === undefined) return
  const left = contents(api, name)
  if (left.length > 0) {
    const next = withAt(namespace, ["status", "conditions"], conditionsOf(api, namespace, left))
    if (!same(next, namespace)) api.store.put("namespaces", next)
    return
  }
  const finalizers = list(at(namespace, "spec", "finalizers")).filter((finalizer) => finalizer !== "kubernetes")
  const emptied = withAt(namespace, ["spec"], finalizers.length === 0 ? {} : { finalizers })
  if (finalizers.length === 0 && (namespace.metadata.finalizers ?? []).length === 0) {
    api.store.remove("namespaces", keyOf(namespace.metadata))
  } else if (!same(emptied, namespace)) api.store.put("namespaces", emptied)
}

/** Furnishes a namespace, or carries its deletion on. @internal */
export const tendNamespace = (api: Api, name: string): void => {
  const namespace = api.store.get("namespaces", name)
  if (namespace === undefined) return
  if (namespace.metadata.deletionTimestamp === undefined) furnish(api, name)
  else terminate(api, name)
}
