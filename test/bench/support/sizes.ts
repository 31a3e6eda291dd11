/** How much is measured: whole, or small for the development of the benchmarks themselves. */
export interface Sizes {
  readonly widgets: number
  readonly changes: number
  readonly configMaps: number
  readonly starts: number
  readonly noopSeconds: number
  readonly objectsPerKind: number
  readonly queueKeys: number
  /** Databases that are made before anything is measured, by each way to make one. */
  readonly warmUpPuts: number
  /** Databases of one batch, and how often there is one. */
  readonly batchPuts: number
  readonly rounds: number
  /** How many records there are of databases. */
  readonly records: ReadonlyArray<number>
  readonly recordPuts: number
  readonly recordAsks: number
  readonly steadySeconds: number
}

export const whole: Sizes = {
  widgets: 2_000,
  changes: 1_000,
  configMaps: 50_000,
  starts: 7,
  noopSeconds: 8,
  objectsPerKind: 1_000,
  queueKeys: 100_000,
  warmUpPuts: 24,
  batchPuts: 32,
  rounds: 3,
  records: [10, 1_000, 10_000],
  recordPuts: 32,
  recordAsks: 200,
  steadySeconds: 10
}

export const small: Sizes = {
  widgets: 200,
  changes: 100,
  configMaps: 2_000,
  starts: 2,
  noopSeconds: 3,
  objectsPerKind: 50,
  queueKeys: 10_000,
  warmUpPuts: 4,
  batchPuts: 8,
  rounds: 1,
  records: [10, 100, 1_000],
  recordPuts: 8,
  recordAsks: 50,
  steadySeconds: 3
}
