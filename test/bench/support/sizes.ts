/** How much is measured: whole, or small for the development of the benchmarks themselves. */
export interface Sizes {
  readonly widgets: number
  readonly changes: number
  readonly configMaps: number
  readonly starts: number
  readonly noopSeconds: number
  readonly objectsPerKind: number
  readonly queueKeys: number
}

export const whole: Sizes = {
  widgets: 2_000,
  changes: 1_000,
  configMaps: 50_000,
  starts: 7,
  noopSeconds: 8,
  objectsPerKind: 1_000,
  queueKeys: 100_000
}

export const small: Sizes = {
  widgets: 200,
  changes: 100,
  configMaps: 2_000,
  starts: 2,
  noopSeconds: 3,
  objectsPerKind: 50,
  queueKeys: 10_000
}
