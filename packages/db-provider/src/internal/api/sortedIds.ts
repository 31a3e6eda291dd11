/** The ids of each consumer in their order, kept while they come and go, so that a page costs no more than what is on it. */

/** The first place whose id is not before `id`. */
const placeOf = (ids: ReadonlyArray<string>, id: string): number => {
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ids[middle] ?? "") < id) low = middle + 1
    else high = middle
  }
  return low
}

export interface SortedIds {
  readonly add: (consumer: string, id: string) => void
  readonly remove: (consumer: string, id: string) => void
  /** The next ones after `id`, or from the beginning. */
  readonly after: (consumer: string, id: string | undefined, count: number) => ReadonlyArray<string>
}

export const make = (): SortedIds => {
  const all = new Map<string, Array<string>>()
  return {
    add: (consumer, id) => {
      const ids = all.get(consumer)
      if (ids === undefined) {
        all.set(consumer, [id])
        return
      }
      const place = placeOf(ids, id)
      if (ids[place] !== id) ids.splice(place, 0, id)
    },
    remove: (consumer, id) => {
      const ids = all.get(consumer) ?? []
      const place = placeOf(ids, id)
      if (ids[place] !== id) return
      ids.splice(place, 1)
      if (ids.length === 0) all.delete(consumer)
    },
    after: (consumer, id, count) => {
      const ids = all.get(consumer) ?? []
      const place = id === undefined ? 0 : placeOf(ids, id)
      const from = ids[place] === id ? place + 1 : place
      return ids.slice(from, from + count)
    }
  }
}
