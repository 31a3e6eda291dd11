/**
 * What a cache believes, and how it changes its mind. It hears from two sides that know nothing of each other: lists and
 * watches, which come late, and the program's own writes. Whatever the order of arrival, no object goes back in time.
 */
import type { Change } from "../Change.ts"
import type { KubeObject } from "../KubeObject.ts"
import * as KubeObjects from "../KubeObject.ts"
import { compare, isOlder } from "./resourceVersion.ts"
import type { Store } from "./store.ts"

/** What one list and the watch after it cover: a namespace, or everything. */
export interface Partition {
  readonly namespace: string | undefined
  /** Up to where the watch has come. */
  progress: string | undefined
  /** A first list is complete. */
  synced: boolean
  /** While a list runs: the keys it named so far, and those that were written by this program since it began. */
  listing:
    | { readonly seen: Set<string>; readonly written: Set<string>; readonly goneBefore: ReadonlyArray<string> }
    | undefined
}

export interface Replica<O extends KubeObject> {
  readonly partitions: ReadonlyArray<Partition>
  readonly beginList: (partition: Partition) => void
  readonly listed: (partition: Partition, object: O) => void
  readonly endList: (partition: Partition, resourceVersion: string) => void
  readonly event: (partition: Partition, tag: "Added" | "Modified" | "Deleted", object: O) => void
  /** The answer to a write of this program. */
  readonly wrote: (object: O) => void
  /** The server said that this object is gone. */
  readonly gone: (key: string, uid: string | undefined) => void
}

/** An own write that removed an object from the cache. What is older and still on its way must not bring it back. */
interface Gone {
  readonly uid: string | undefined
  /** Undefined: this object never comes back. */
  readonly since: string | undefined
}

const keyOf = (object: KubeObject): string => KubeObjects.key(object.metadata)

const covers = (partition: Partition, namespace: string | undefined): boolean =>
  partition.namespace === undefined || partition.namespace === namespace

/** Where both sides meet: the objects, and the marks of those that an own write removed. */
const beliefs = <O extends KubeObject>(store: Store<O>, publish: (change: Change<O>) => void) => {
  const goneBy = new Map<string, Gone>()

  const remove = (key: string, last: O): void => {
    store.remove(key)
    publish({ _tag: "Deleted", object: last, previous: undefined, initial: false })
  }

  const put = (key: string, object: O, initial: boolean): void => {
    const current = store.get(key)
    if (current !== undefined && current.metadata.uid !== object.metadata.uid) remove(key, current)
    const previous = store.get(key)
    store.put(key, object)
    publish({ _tag: previous === undefined ? "Added" : "Modified", object, previous, initial })
  }

  /** Whether an own write has overtaken this news of a removed object. */
  const overtaken = (key: string, object: O): boolean => {
    const gone = goneBy.get(key)
    if (gone === undefined || gone.uid !== object.metadata.uid) return false
    if (gone.since === undefined || !isOlder(gone.since, object.metadata.resourceVersion)) return true
    goneBy.delete(key)
    return false
  }

  return { store, goneBy, remove, put, overtaken }
}

/** What lists and watches say. */
const fromServer = <O extends KubeObject>({ goneBy, overtaken, put, remove, store }: ReturnType<typeof beliefs<O>>) => {
  const beginList = (partition: Partition): void => {
    const goneBefore = [...goneBy.keys()].filter((key) => covers(partition, KubeObjects.fromKey(key).namespace))
    partition.listing = { seen: new Set(), written: new Set(), goneBefore }
  }

  const listed = (partition: Partition, object: O): void => {
    const key = keyOf(object)
    if (overtaken(key, object)) return
    partition.listing?.seen.add(key)
    const current = store.get(key)
    const { resourceVersion, uid } = object.metadata
    if (current?.metadata.uid === uid && current?.metadata.resourceVersion === resourceVersion) return
    // The list is the truth, also where it is older than the cache (a server restored from a backup): except for what
    // this program has written since the list began.
    const written = partition.listing?.written.has(key) === true
    if (written && isOlder(resourceVersion, current?.metadata.resourceVersion)) return
    put(key, object, !partition.synced)
  }

  const endList = (partition: Partition, resourceVersion: string): void => {
    const { goneBefore = [], seen, written } = partition.listing ?? {}
    for (const key of store.keys(partition.namespace)) {
      if (seen?.has(key) === true) continue
      const current = store.get(key)
      if (current === undefined) continue
      const newer = written?.has(key) === true && isOlder(resourceVersion, current.metadata.resourceVersion)
      if (!newer) remove(key, current)
    }
    for (const key of goneBefore) goneBy.delete(key)
    partition.listing = undefined
    partition.progress = resourceVersion
    partition.synced = true
  }

  const deleted = (key: string, object: O): void => {
    if (overtaken(key, object)) {
      goneBy.delete(key)
      return
    }
    const current = store.get(key)
    const same = current !== undefined && current.metadata.uid === object.metadata.uid
    if (same && !isOlder(object.metadata.resourceVersion, current.metadata.resourceVersion)) remove(key, object)
  }

  const event: Replica<O>["event"] = (partition, tag, object) => {
    const key = keyOf(object)
    const { resourceVersion } = object.metadata
    if (resourceVersion !== undefined) partition.progress = resourceVersion
    if (tag === "Deleted") {
      // A streaming list tells what happened while it ran before it says that it is complete.
      partition.listing?.seen.delete(key)
      return deleted(key, object)
    }
    if (overtaken(key, object)) return
    const current = store.get(key)
    const order = compare(resourceVersion, current?.metadata.resourceVersion)
    if (current === undefined || order === undefined || order > 0) put(key, object, false)
  }

  return { beginList, listed, endList, event }
}

/** What the program itself has written. */
const fromProgram = <O extends KubeObject>(
  { goneBy, overtaken, put, remove, store }: ReturnType<typeof beliefs<O>>,
  partitions: ReadonlyArray<Partition>,
  selects: (object: KubeObject) => boolean | undefined
) => {
  const partitionOf = (object: O): Partition | undefined =>
    partitions.find((partition) => covers(partition, object.metadata.namespace))

  /** An own write after which the object is not in the selection any more. */
  const left = (key: string, object: O): void => {
    const current = store.get(key)
    if (current === undefined || isOlder(object.metadata.resourceVersion, current.metadata.resourceVersion)) return
    goneBy.set(key, { uid: object.metadata.uid, since: object.metadata.resourceVersion })
    remove(key, current)
  }

  const wrote = (object: O): void => {
    const partition = partitionOf(object)
    if (partition === undefined) return
    const key = keyOf(object)
    const current = store.get(key)
    const selected = selects(object)
    if (selected === false) return left(key, object)
    if ((selected === undefined && current === undefined) || overtaken(key, object)) return
    const { resourceVersion } = object.metadata
    // The watch has passed this write already: what is not here was deleted since.
    const passed = compare(resourceVersion, partition.progress) ?? (partition.progress === undefined ? 1 : 0)
    if (current === undefined && passed <= 0) return
    const order = compare(resourceVersion, current?.metadata.resourceVersion)
    if (current !== undefined && order !== undefined && order <= 0) return
    partition.listing?.written.add(key)
    put(key, object, false)
  }

  const gone = (key: string, uid: string | undefined): void => {
    const current = store.get(key)
    if (current === undefined || current.metadata.uid !== uid) return
    goneBy.set(key, { uid, since: undefined })
    remove(key, current)
  }

  return { wrote, gone }
}

export const make = <O extends KubeObject>(options: {
  readonly store: Store<O>
  readonly namespaces: ReadonlyArray<string> | undefined
  /** Undefined: only the server can tell. */
  readonly selects: (object: KubeObject) => boolean | undefined
  readonly publish: (change: Change<O>) => void
}): Replica<O> => {
  const partitions = (options.namespaces ?? [undefined]).map((namespace): Partition => ({
    namespace,
    progress: undefined,
    synced: false,
    listing: undefined
  }))
  const common = beliefs(options.store, options.publish)
  return { partitions, ...fromServer(common), ...fromProgram(common, partitions, options.selects) }
}
