/**
 * Kubernetes objects as the API server sends them: raw JSON, of which a type describes the part that is known.
 *
 * **Guarantees**
 * - K1: nothing here decodes or copies an object, so a field that no type names is still there when it is written back.
 *
 * @since 0.1.0
 */
import type { meta } from "./internal/types.ts"

/**
 * A reference from a dependent to the object that owns it.
 *
 * @category models
 * @since 0.1.0
 */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/**
 * What every object carries about itself. What the API server sets (`uid`, `resourceVersion`, …) is optional, since an
 * object that is being written does not have it yet.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly generateName?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: ReadonlyArray<string>
  readonly ownerReferences?: ReadonlyArray<OwnerReference>
  readonly managedFields?: ReadonlyArray<meta.ManagedFieldsEntry>
}

/**
 * Any object of the API.
 *
 * @category models
 * @since 0.1.0
 */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/**
 * An object as its author writes it: `apiVersion` and `kind` may be left out, since the resource type says them, and so
 * may any other field: an apply names only the fields that it owns, and `generateName` may stand for `name`.
 *
 * @category models
 * @since 0.1.0
 */
export type Draft<O extends KubeObject> = Partial<Omit<O, "apiVersion" | "kind" | "metadata">> & {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: Partial<ObjectMeta>
}

/**
 * Which object of a kind: its name, and its namespace where the kind has one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ref {
  readonly name: string
  readonly namespace?: string | undefined
}

/**
 * The reference to this object.
 *
 * @category getters
 * @since 0.1.0
 */
export const ref = (object: KubeObject): Ref => ({ name: object.metadata.name, namespace: object.metadata.namespace })

/**
 * A reference as one string: `namespace/name`, or `name` where there is no namespace. It is the key of caches and queues.
 *
 * @category conversions
 * @since 0.1.0
 */
export const key = ({ name, namespace }: Ref): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`

/**
 * The reference that a {@link key} stands for. Names hold no slash, so nothing is lost on the way.
 *
 * @category conversions
 * @since 0.1.0
 */
export const fromKey = (text: string): Ref => {
  const slash = text.indexOf("/")
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}

/**
 * What makes an object the owner of others. It may be decoded.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner extends Pick<KubeObject, "apiVersion" | "kind"> {
  readonly metadata: Pick<ObjectMeta, "name" | "uid">
}

/**
 * The reference by which a dependent names the object that keeps it.
 *
 * **Details**: `owner` is one that the API server has given a uid.
 *
 * @category conversions
 * @since 0.1.0
 */
export const controllerReference = (owner: Owner): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid ?? "",
  controller: true
})

/**
 * Whether the object names `owner` as the one that keeps it: this very one, not another one of its name.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isControlledBy = ({ metadata }: KubeObject, owner: Owner): boolean =>
  metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === owner.metadata.uid) === true
