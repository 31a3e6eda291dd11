/**
 * Objects by key, by namespace and by the declared indexes. Every lookup costs the size of its answer.
 *
 * They are kept as JSON in an archive, and as values only while they are in use, since as values they take several times the memory.
 * Indexes are computed once, when an object arrives.
 */
import type { KubeObject } from "../KubeObject.ts"
import * as KubeObjects from "../KubeObject.ts"
import * as Archive from "./archive.ts"
import * as Recent from "./recent.ts"

/** What an index files an object under. */
export type Indexer<O extends KubeObject> = (object: O) => ReadonlyArray<string>

export interface Store<O extends KubeObject> {
  readonly get: (key: string) => O | undefined
  readonly put: (key: string, object: O) => void
  readonly remove: (key: string) => void
  readonly list: (namespace?: string) => ReadonlyArray<O>
  readonly keys: (namespace?: string) => Iterable<string>
  readonly byIndex: (name: string, value: string) => ReadonlyArray<O>
  /** How many that would be, for nothing. */
  readonly count: (name: string, value: string) => number
  readonly size: () => number
}

/**
 * So many characters of objects that were used of late are kept as values, and at most twice as many. A smaller cache never parses
 * anything again.
 */
const recentCharsMax = 2 * 1024 * 1024

/** Which keys are filed under which value. */
const filing = () => {
  const byValue = new Map<string, Set<string>>()
  const file = (key: string, value: string): void => {
    const keys = byValue.get(value)
    if (keys === undefined) byValue.set(value, new Set([key]))
    else keys.add(key)
  }
  const unfile = (key: string, value: string): void => {
    const keys = byValue.get(value)
    if (keys?.delete(key) === true && keys.size === 0) byValue.delete(value)
  }
  return {
    file,
    unfile,
    keys: (value: string): Iterable<string> => byValue.get(value) ?? [],
    count: (value: string): number => byValue.get(value)?.size ?? 0
  }
}

interface Index<O extends KubeObject> {
  readonly valuesOf: Indexer<O>
  readonly filed: ReturnType<typeof filing>
  /** What each key is filed under now. Remembered, so that an impure indexer cannot leave anything behind. */
  readonly values: Map<string, ReadonlyArray<string>>
}

const noValues: ReadonlyArray<string> = []

/** `fault` gets what an indexer throws; the object is then filed under nothing. */
export const make = <O extends KubeObject>(
  indexers: Readonly<Record<string, Indexer<O>>>,
  fault: (thrown: unknown) => void
): Store<O> => {
  const archive = Archive.make()
  const recent = Recent.make<O>(recentCharsMax)
  const namespaces = filing()
  const indexes = new Map<string, Index<O>>(
    Object.entries(indexers).map(([name, valuesOf]) => [name, { valuesOf, filed: filing(), values: new Map() }])
  )

  const valuesOf = (index: Index<O>, object: O): ReadonlyArray<string> => {
    try {
      // Read here, so that what is no list has failed here too.
      return [...index.valuesOf(object)]
    } catch (thrown) {
      fault(thrown)
      return noValues
    }
  }

  const refile = (index: Index<O>, key: string, values: ReadonlyArray<string>): void => {
    for (const value of index.values.get(key) ?? noValues) index.filed.unfile(key, value)
    for (const value of values) index.filed.file(key, value)
    if (values.length === 0) index.values.delete(key)
    else index.values.set(key, values)
  }

  const put = (key: string, object: O): void => {
    const text = JSON.stringify(object)
    archive.put(key, text)
    recent.set(key, object, text.length)
    namespaces.file(key, object.metadata.namespace ?? "")
    for (const index of indexes.values()) refile(index, key, valuesOf(index, object))
  }

  const remove = (key: string): void => {
    archive.delete(key)
    recent.delete(key)
    namespaces.unfile(key, KubeObjects.fromKey(key).namespace ?? "")
    for (const index of indexes.values()) refile(index, key, noValues)
  }

  const revive = (key: string, text: string): O => {
    const object = JSON.parse(text) as O
    recent.set(key, object, text.length)
    return object
  }

  const get = (key: string): O | undefined => {
    const used = recent.get(key)
    if (used !== undefined) return used
    const text = archive.get(key)
    return text === undefined ? undefined : revive(key, text)
  }

  const at = (keys: ReadonlyArray<string>): ReadonlyArray<O> => {
    const used = keys.map(recent.get)
    const rest = keys.filter((_, index) => used[index] === undefined)
    const revived = new Map(archive.getAll(rest).map(([key, text]) => [key, revive(key, text)]))
    return keys.flatMap((key, index) => used[index] ?? revived.get(key) ?? [])
  }

  return {
    get,
    put,
    remove,
    list: (namespace) => at([...(namespace === undefined ? archive.keys() : namespaces.keys(namespace))]),
    keys: (namespace) => (namespace === undefined ? archive.keys() : namespaces.keys(namespace)),
    byIndex: (name, value) => at([...(indexes.get(name)?.filed.keys(value) ?? [])]),
    count: (name, value) => indexes.get(name)?.filed.count(value) ?? 0,
    size: archive.size
  }
}
