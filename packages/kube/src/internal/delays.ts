/**
 * When each of many keys is due: a binary heap, in which what was changed or cancelled stays behind until it surfaces.
 * Keys that are due at the same time come in the order in which they were set.
 */
export interface Delays {
  readonly get: (key: string) => number | undefined
  /** Replaces the key's time. */
  readonly set: (key: string, dueMs: number) => void
  readonly cancel: (key: string) => void
  /** When the first one is due. */
  readonly nextMs: () => number | undefined
  /** Removes and returns one key that is due. */
  readonly takeDue: (nowMs: number) => string | undefined
  readonly clear: () => void
}

interface Item {
  readonly key: string
  readonly dueMs: number
  readonly order: number
}

const before = (a: Item, b: Item): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)

const push = (heap: Array<Item>, item: Item): void => {
  let index = heap.length
  heap.push(item)
  while (index > 0) {
    const above = (index - 1) >> 1
    const parent = heap[above]
    if (parent === undefined || before(parent, item)) break
    heap[index] = parent
    index = above
  }
  heap[index] = item
}

const pop = (heap: Array<Item>): void => {
  const item = heap.pop()
  if (item === undefined || heap.length === 0) return
  let index = 0
  for (;;) {
    const left = heap[2 * index + 1]
    const right = heap[2 * index + 2]
    const least = left !== undefined && right !== undefined && before(right, left) ? right : left
    if (least === undefined || before(item, least)) break
    heap[index] = least
    index = 2 * index + (least === right ? 2 : 1)
  }
  heap[index] = item
}

export const make = (): Delays => {
  const due = new Map<string, Item>()
  let heap: Array<Item> = []
  let order = 0

  /** The first item that still counts. */
  const first = (): Item | undefined => {
    while (heap[0] !== undefined && due.get(heap[0].key) !== heap[0]) pop(heap)
    return heap[0]
  }

  const set = (key: string, dueMs: number): void => {
    const item: Item = { key, dueMs, order: order++ }
    due.set(key, item)
    push(heap, item)
    // Bounds the heap by the number of keys, however often each is moved.
    if (heap.length > 2 * due.size + 64) {
      heap = []
      for (const each of due.values()) push(heap, each)
    }
  }

  const takeDue = (nowMs: number): string | undefined => {
    const item = first()
    if (item === undefined || item.dueMs > nowMs) return undefined
    pop(heap)
    due.delete(item.key)
    return item.key
  }

  const clear = (): void => {
    due.clear()
    heap = []
  }

  return {
    get: (key) => due.get(key)?.dueMs,
    set,
    cancel: (key) => due.delete(key),
    nextMs: () => first()?.dueMs,
    takeDue,
    clear
  }
}
