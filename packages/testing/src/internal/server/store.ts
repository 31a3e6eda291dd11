/**
 * The objects of a cluster, a counter of changes and a bounded history of them.
 *
 * One counter numbers all changes, without gaps: the number of a change is the resourceVersion of the object it made,
 * and the place of a change in the history follows from its number.
 */
import { keyOf, withMeta, type Obj } from "./json.ts"

/** @internal */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly version: number
  /** Which collection: kinds that share their storage share it. */
  readonly storage: string
  readonly key: string
  /** As it is now; of a deleted object the last state, under the version of the deletion. */
  readonly object: Obj
  readonly before: Obj | undefined
}

interface Collection {
  readonly objects: Map<string, Obj>
  /** The keys in order; made anew after a key came or went. */
  sorted: ReadonlyArray<string> | undefined
}

/** @internal */
export class Store {
  /** The number of the newest change. */
  version = 1
  readonly #collections = new Map<string, Collection>()
  readonly #byUid = new Map<string, { readonly storage: string; readonly key: string }>()
  readonly #dependents = new Map<string, Set<string>>()
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #historyMax: number
  #history: Array<Change> = []

  constructor(historyMax: number) {
    this.#historyMax = historyMax
  }

  /** The oldest version whose state can still be told. */
  get oldest(): number {
    return this.version - this.#history.length
  }

  get(storage: string, key: string): Obj | undefined {
    return this.#collections.get(storage)?.objects.get(key)
  }

  all(storage: string): ReadonlyArray<Obj> {
    const collection = this.#collections.get(storage)
    if (collection === undefined) return []
    collection.sorted ??= [...collection.objects.keys()].sort()
    return collection.sorted.flatMap((key) => collection.objects.get(key) ?? [])
  }

  storages(): ReadonlyArray<string> {
    return [...this.#collections.keys()]
  }

  byUid(uid: string): { readonly storage: string; readonly object: Obj } | undefined {
    const place = this.#byUid.get(uid)
    const object = place === undefined ? undefined : this.get(place.storage, place.key)
    return place === undefined || object === undefined ? undefined : { storage: place.storage, object }
  }

  /** The objects that name this UID as an owner. */
  dependents(uid: string): ReadonlyArray<{ readonly storage: string; readonly object: Obj }> {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.byUid(dependent) ?? [])
  }

  put(storage: string, object: Obj): Obj {
    const key = keyOf(object.metadata)
    let collection = this.#collections.get(storage)
    if (collection === undefined)
      this.#collections.set(storage, (collection = { objects: new Map(), sorted: undefined }))
    const before = collection.objects.get(key)
    const stored = withMeta(object, { resourceVersion: String(this.version + 1) })
    if (before === undefined) collection.sorted = undefined
    else this.#unindex(before)
    collection.objects.set(key, stored)
    this.#index(storage, key, stored)
    this.#record({ type: before === undefined ? "ADDED" : "MODIFIED", storage, key, object: stored, before })
    return stored
  }

  remove(storage: string, key: string): void {
    const collection = this.#collections.get(storage)
    const before = collection?.objects.get(key)
    if (collection === undefined || before === undefined) return
    collection.objects.delete(key)
    collection.sorted = undefined
    this.#unindex(before)
    const object = withMeta(before, { resourceVersion: String(this.version + 1) })
    this.#record({ type: "DELETED", storage, key, object, before })
  }

  /** The changes after a version, oldest first; undefined where the history does not reach back so far. */
  since(version: number): ReadonlyArray<Change> | undefined {
    const known = version - this.oldest
    return known < 0 ? undefined : this.#history.slice(known)
  }

  /** A collection as it was at a version; undefined where the history does not reach back so far. */
  snapshot(storage: string, version: number): ReadonlyArray<Obj> | undefined {
    const changes = this.since(version)?.filter((change) => change.storage === storage)
    if (changes === undefined || changes.length === 0) return changes === undefined ? undefined : this.all(storage)
    const objects = new Map(this.#collections.get(storage)?.objects)
    for (const { before, key } of changes.reverse()) {
      if (before === undefined) objects.delete(key)
      else objects.set(key, before)
    }
    return [...objects.keys()].sort().flatMap((key) => objects.get(key) ?? [])
  }

  /** Forgets the history. */
  compact(): void {
    this.#history = []
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #record(change: Omit<Change, "version">): void {
    this.version += 1
    const recorded = { ...change, version: this.version }
    this.#history.push(recorded)
    // Twice the bound before cutting, so that cutting costs nothing per change.
    if (this.#history.length >= 2 * this.#historyMax) this.#history = this.#history.slice(-this.#historyMax)
    for (const listener of this.#listeners) listener(recorded)
  }

  #index(storage: string, key: string, { metadata }: Obj): void {
    this.#byUid.set(metadata.uid, { storage, key })
    for (const { uid } of metadata.ownerReferences ?? []) {
      const known = this.#dependents.get(uid)
      if (known === undefined) this.#dependents.set(uid, new Set([metadata.uid]))
      else known.add(metadata.uid)
    }
  }

  #unindex({ metadata }: Obj): void {
    this.#byUid.delete(metadata.uid)
    for (const { uid } of metadata.ownerReferences ?? []) {
      const known = this.#dependents.get(uid)
      known?.delete(metadata.uid)
      if (known?.size === 0) this.#dependents.delete(uid)
    }
  }
}
