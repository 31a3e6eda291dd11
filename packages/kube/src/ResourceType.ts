/**
 * What the API server calls a kind, and where it serves it. A {@link ResourceType} also remembers, for the compiler only,
 * the type of the objects.
 *
 * @since 0.1.0
 */
import type { KubeObject, Ref } from "./KubeObject.ts"

/**
 * Whether objects live in a namespace.
 *
 * @category models
 * @since 0.1.0
 */
export type Scope = "Namespaced" | "Cluster"

/**
 * One kind in one version. `group` is empty for the core group.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResourceType<out O extends KubeObject = KubeObject> {
  readonly group: string
  readonly version: string
  readonly kind: string
  /** Lower case, as it stands in the URL. */
  readonly plural: string
  readonly scope: Scope
  /** Never there at run time: it carries `O` for inference. */
  readonly "~object"?: O
}

/**
 * Names a kind. The type of its objects is given by the caller and taken on trust, as everywhere where JSON comes in.
 *
 * **Example** (A kind of somebody else's operator)
 * ```ts
 * import * as ResourceType from "@berth/kube/ResourceType"
 * import type { KubeObject } from "@berth/kube/KubeObject"
 *
 * interface Certificate extends KubeObject {
 *   readonly spec: { readonly secretName: string }
 * }
 * export const Certificate = ResourceType.make<Certificate>({
 *   group: "cert-manager.io", version: "v1", kind: "Certificate", plural: "certificates", scope: "Namespaced"
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <O extends KubeObject = KubeObject>(options: Omit<ResourceType<O>, "~object">): ResourceType<O> =>
  options

/**
 * `group/version`, or `version` alone for the core group.
 *
 * @category getters
 * @since 0.1.0
 */
export const apiVersion = ({ group, version }: ResourceType): string => (group === "" ? version : `${group}/${version}`)

/**
 * `plural.group`, or `plural` alone for the core group: how kubectl and messages name a kind.
 *
 * @category getters
 * @since 0.1.0
 */
export const qualified = ({ group, plural }: ResourceType): string => (group === "" ? plural : `${plural}.${group}`)

/**
 * The path of the collection, in one namespace or across all of them.
 *
 * @category getters
 * @since 0.1.0
 */
export const collectionPath = (type: ResourceType, namespace?: string): string => {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`
  return type.scope === "Namespaced" && namespace !== undefined && namespace !== ""
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${type.plural}`
    : `${root}/${type.plural}`
}

/**
 * The path of one object.
 *
 * @category getters
 * @since 0.1.0
 */
export const objectPath = (type: ResourceType, { name, namespace }: Ref): string =>
  `${collectionPath(type, namespace)}/${encodeURIComponent(name)}`

/**
 * Whether an object is of this kind, in any of its versions.
 *
 * @category guards
 * @since 0.1.0
 */
export const matches = (
  type: ResourceType,
  object: { readonly apiVersion: string; readonly kind: string }
): boolean => {
  const slash = object.apiVersion.indexOf("/")
  return object.kind === type.kind && (slash < 0 ? "" : object.apiVersion.slice(0, slash)) === type.group
}
