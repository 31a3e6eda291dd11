/** Chance that repeats itself: the same text gives the same number. */
const mix = (state: number): number => {
  let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** From 0 up to 1. */
export const fraction = (text: string): number => {
  let state = 0x811c9dc5
  for (let index = 0; index < text.length; index++) state = Math.imul(state ^ text.charCodeAt(index), 0x01000193)
  return mix(state) / 4_294_967_296
}

/** So many of them, in their order. */
export const sample = <A>(all: ReadonlyArray<A>, count: number, seed: number): ReadonlyArray<A> => {
  const drawn = all.map((_, index) => ({ index, lot: fraction(`${seed} ${index}`) }))
  const chosen = new Set(
    drawn
      .toSorted((left, right) => left.lot - right.lot)
      .slice(0, count)
      .map(({ index }) => index)
  )
  return all.filter((_, index) => chosen.has(index))
}
