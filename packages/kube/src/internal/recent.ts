/**
 * Values by key, of which those that were used of late are kept. Two generations: what is used is in the young one, and when
 * that is full the old one is forgotten and the young one grows old. So a read moves nothing, and at least the `sizeMax` that were
 * used last are there.
 */
export interface Recent<A> {
  readonly get: (key: string) => A | undefined
  readonly set: (key: string, value: A, size: number) => void
  readonly delete: (key: string) => void
}

interface Entry<A> {
  readonly value: A
  readonly size: number
}

export const make = <A>(sizeMax: number): Recent<A> => {
  let young = new Map<string, Entry<A>>()
  let old = new Map<string, Entry<A>>()
  let size = 0

  const add = (key: string, entry: Entry<A>): void => {
    size += entry.size - (young.get(key)?.size ?? 0)
    young.set(key, entry)
    if (size <= sizeMax) return
    old = young
    young = new Map()
    size = 0
  }

  return {
    get: (key) => {
      const entry = young.get(key)
      if (entry !== undefined) return entry.value
      const before = old.get(key)
      if (before !== undefined) add(key, before)
      return before?.value
    },
    set: (key, value, size) => {
      old.delete(key)
      add(key, { value, size })
    },
    delete: (key) => {
      size -= young.get(key)?.size ?? 0
      young.delete(key)
      old.delete(key)
    }
  }
}
