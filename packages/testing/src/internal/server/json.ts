/**
 * Kubernetes objects as the server holds them. A stored object is never changed in place, so that it can be shared
 * between the store, the history, watches and answers.
 */

/** @internal */
export type Fields = { readonly [field: string]: unknown }

/** @internal */
export interface OwnerRef extends Fields {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly blockOwnerDeletion?: boolean
}

/** @internal */
export interface Meta extends Fields {
  readonly name: string
  readonly namespace?: string | undefined
  readonly generateName?: string | undefined
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number | undefined
  readonly creationTimestamp?: string | undefined
  readonly deletionTimestamp?: string | undefined
  readonly deletionGracePeriodSeconds?: number | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
  readonly finalizers?: ReadonlyArray<string> | undefined
  readonly ownerReferences?: ReadonlyArray<OwnerRef> | undefined
}

/** @internal */
export interface Obj extends Fields {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Meta
}

/** @internal */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value as an object, or an empty one. @internal */
export const fields = (value: unknown): Fields => (isFields(value) ? value : {})

/** The value as a list, or an empty one. @internal */
export const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The value as a text, or an empty one. @internal */
export const text = (value: unknown): string => (typeof value === "string" ? value : "")

/** A scalar as text; anything else as JSON, and nothing where there is no value. @internal */
export const shown = (value: unknown): string => {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : JSON.stringify(value)
}

/** The value at a path of field names. @internal */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((inner, name) => (isFields(inner) ? inner[name] : undefined), value)

/** The object with the value at a path replaced; `undefined` takes the field away. @internal */
export const withAt = <O extends Fields>(object: O, path: ReadonlyArray<string>, value: unknown): O => {
  const [name, ...rest] = path
  if (name === undefined) return object
  const inner = rest.length === 0 ? value : withAt(fields(object[name]), rest, value)
  if (inner !== undefined) return { ...object, [name]: inner }
  const { [name]: _, ...others } = object
  return others as O
}

/** @internal */
export const withMeta = <O extends Obj>(object: O, meta: Fields): O => {
  const merged: Record<string, unknown> = { ...object.metadata }
  for (const [name, value] of Object.entries(meta)) {
    if (value === undefined) delete merged[name]
    else merged[name] = value
  }
  return { ...object, metadata: merged as unknown as Meta }
}

/** Whether two JSON values are the same; an absent field equals an undefined one, the order of fields does not matter. @internal */
export const same = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => same(item, b[i]))
  if (!isFields(a) || !isFields(b)) return false
  const defined = (object: Fields) => Object.keys(object).filter((name) => object[name] !== undefined)
  const names = defined(a)
  return names.length === defined(b).length && names.every((name) => same(a[name], b[name]))
}

/** `namespace/name`, or `name`: the order of these texts is the order of lists. @internal */
export const keyOf = ({
  name,
  namespace
}: {
  readonly name: string
  readonly namespace?: string | undefined
}): string => (namespace === undefined || namespace === "" ? name : `${namespace}/${name}`)

/** The group of an `apiVersion`; empty for the core group. @internal */
export const groupOf = (apiVersion: string): string => {
  const slash = apiVersion.indexOf("/")
  return slash < 0 ? "" : apiVersion.slice(0, slash)
}

/** @internal */
export const groupVersion = (group: string, version: string): string => (group === "" ? version : `${group}/${version}`)

/** Milliseconds as the API writes a time. @internal */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

const texts = new WeakMap<object, string>()

/** The JSON text of an object that is never changed. @internal */
export const jsonOf = (object: object): string => {
  const known = texts.get(object)
  if (known !== undefined) return known
  const made = JSON.stringify(object)
  texts.set(object, made)
  return made
}
