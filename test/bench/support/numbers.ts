/** Numbers out of many numbers. */

const sorted = (values: ReadonlyArray<number>) => [...values].sort((a, b) => a - b)

/** The least value that so great a share of all does not exceed. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  sorted(values)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? Number.NaN

export const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)
