/** First in, first out, with removal from the middle. All steps cost O(1). */
export interface Fifo {
  readonly size: () => number
  readonly add: (key: string) => void
  readonly delete: (key: string) => boolean
  readonly take: () => string | undefined
  readonly clear: () => void
}

/**
 * A Set keeps the order of insertion, but a fresh iterator walks over every hole that deletions left. One iterator that
 * is kept walks over each hole once: an iterator over a Set sees what is added after it was made.
 */
export const make = (): Fifo => {
  const keys = new Set<string>()
  let iterator = keys.values()

  const take = (): string | undefined => {
    if (keys.size === 0) return undefined
    const next = iterator.next()
    if (next.done === true) {
      // It came to the end earlier, and keys were added since.
      iterator = keys.values()
      return take()
    }
    keys.delete(next.value)
    return next.value
  }

  return {
    size: () => keys.size,
    add: (key) => keys.add(key),
    delete: (key) => keys.delete(key),
    take,
    clear: () => keys.clear()
  }
}
