/** Numbers that look random and are the same for the same seed, so that a run that failed can be seen again. */
export interface Chance {
  readonly seed: number
  /** A whole number from `least` to `most`, both included. */
  readonly between: (least: number, most: number) => number
}

/** The seed that the environment asks for, or one that nobody has chosen. */
export const seedFrom = (variable: string | undefined): number => {
  const asked = Number(variable ?? "")
  return Number.isInteger(asked) && asked > 0 ? asked : 1 + Math.floor(Math.random() * 0xffff_fffe)
}

/** The generator called mulberry32: 32 bits of state, and good enough to pick moments. */
export const make = (seed: number): Chance => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
  return { seed, between: (least, most) => least + Math.floor(next() * (most - least + 1)) }
}
