/**
 * What the server says about the kinds that it serves.
 */
import { groupVersion, type Fields } from "./json.ts"
import type { Registry } from "./registry.ts"
import type { Resource, Subresource } from "./resource.ts"
import { compareVersions } from "./customKinds.ts"

/** Kinds that can only be created and are never stored. @internal */
export interface VirtualKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
}

/** @internal */
export const virtualKinds: ReadonlyArray<VirtualKind> = [
  ["authentication.k8s.io", "SelfSubjectReview", false],
  ["authentication.k8s.io", "TokenReview", false],
  ["authorization.k8s.io", "LocalSubjectAccessReview", true],
  ["authorization.k8s.io", "SelfSubjectAccessReview", false],
  ["authorization.k8s.io", "SelfSubjectRulesReview", false],
  ["authorization.k8s.io", "SubjectAccessReview", false]
].map(([group, kind, namespaced]) => ({
  group: String(group),
  version: "v1",
  kind: String(kind),
  plural: `${String(kind).toLowerCase()}s`,
  namespaced: namespaced === true
}))

/** All the subresources of a kind. */
const subresourcesOf = (resource: Resource): ReadonlyArray<Subresource> => {
  const verbs = ["get", "patch", "update"]
  const own = { kind: resource.kind, group: resource.group, version: resource.version, verbs }
  const all = [
    ...(resource.status ? [{ name: "status", ...own }] : []),
    ...(resource.scale === undefined
      ? []
      : [{ name: "scale", kind: "Scale", group: "autoscaling", version: "v1", verbs }]),
    ...resource.subresources
  ]
  return resource.custom === undefined ? all.toSorted((a, b) => (a.name < b.name ? -1 : 1)) : all
}

/** The groups in the order of their names, each with its versions, the preferred one first. */
const groupsOf = (registry: Registry): ReadonlyMap<string, ReadonlyArray<string>> => {
  const groups = new Map<string, Set<string>>()
  for (const { group, version } of [...registry.all, ...virtualKinds]) {
    const known = groups.get(group)
    if (known === undefined) groups.set(group, new Set([version]))
    else known.add(version)
  }
  return new Map(
    [...groups]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([group, versions]) => [group, [...versions].sort(compareVersions)])
  )
}

const inVersion = <A extends { readonly group: string; readonly version: string }>(
  all: ReadonlyArray<A>,
  group: string,
  version: string
): ReadonlyArray<A> => all.filter((one) => one.group === group && one.version === version)

const groupOf = (group: string, versions: ReadonlyArray<string>): Fields => {
  const listed = versions.map((version) => ({ groupVersion: groupVersion(group, version), version }))
  return { name: group, versions: listed, preferredVersion: listed[0] }
}

/** `/apis` @internal */
export const groupList = (registry: Registry): Fields => ({
  kind: "APIGroupList",
  apiVersion: "v1",
  groups: [...groupsOf(registry)].filter(([group]) => group !== "").map(([group, versions]) => groupOf(group, versions))
})

/** `/apis/GROUP` @internal */
export const groupInfo = (registry: Registry, group: string): Fields | undefined => {
  const versions = groupsOf(registry).get(group)
  return versions === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...groupOf(group, versions) }
}

const listed = (resource: Resource): ReadonlyArray<Fields> => [
  {
    name: resource.plural,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    verbs: resource.verbs,
    ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
    ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
    storageVersionHash: Buffer.from(resource.storage).toString("base64").slice(0, 11)
  },
  ...subresourcesOf(resource).map(({ group, kind, name, verbs, version }) => ({
    name: `${resource.plural}/${name}`,
    singularName: "",
    namespaced: resource.namespaced,
    ...(group === resource.group && version === resource.version ? {} : { group, version }),
    kind,
    verbs
  }))
]

/** `/api/v1`, `/apis/GROUP/VERSION` @internal */
export const resourceList = (registry: Registry, group: string, version: string): Fields | undefined => {
  const resources = inVersion(registry.all, group, version)
  const virtual = inVersion(virtualKinds, group, version)
  if (resources.length === 0 && virtual.length === 0) return undefined
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: groupVersion(group, version),
    resources: [
      ...resources.flatMap(listed),
      ...virtual.map(({ kind, namespaced, plural }) => ({
        name: plural,
        singularName: kind.toLowerCase(),
        namespaced,
        kind,
        verbs: ["create"]
      }))
    ]
  }
}

const aggregated = (resource: Resource): Fields => ({
  resource: resource.plural,
  // Of a built-in kind, only what differs from the group and version that it is listed under is said.
  responseKind:
    resource.custom === undefined
      ? { group: "", version: "", kind: resource.kind }
      : { group: resource.group, version: resource.version, kind: resource.kind },
  scope: resource.namespaced ? "Namespaced" : "Cluster",
  singularResource: resource.singular,
  verbs: resource.verbs,
  ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
  ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
  subresources: subresourcesOf(resource).map(({ group, kind, name, verbs, version }) => ({
    subresource: name,
    responseKind: { group, version, kind },
    verbs
  }))
})

const aggregatedVirtual = ({ group, kind, namespaced, plural, version }: VirtualKind): Fields => ({
  resource: plural,
  responseKind: { group, version, kind },
  scope: namespaced ? "Namespaced" : "Cluster",
  singularResource: kind.toLowerCase(),
  verbs: ["create"]
})

/** `/api` or `/apis` in one answer, with all kinds. @internal */
export const aggregatedDiscovery = (registry: Registry, core: boolean, apiVersion: string): Fields => ({
  kind: "APIGroupDiscoveryList",
  apiVersion: `apidiscovery.k8s.io/${apiVersion}`,
  metadata: {},
  items: [...groupsOf(registry)]
    .filter(([group]) => (group === "") === core)
    .map(([group, versions]) => ({
      metadata: core ? {} : { name: group },
      versions: versions.map((version) => ({
        version,
        resources: [
          ...inVersion(registry.all, group, version).map(aggregated),
          ...inVersion(virtualKinds, group, version).map(aggregatedVirtual)
        ],
        freshness: "Current"
      }))
    }))
})
