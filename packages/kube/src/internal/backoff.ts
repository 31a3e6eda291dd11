/** Growing delays with jitter, so that many who fail together do not come back together. */
import { Effect, Random } from "effect"

export interface Policy {
  readonly firstMs: number
  readonly mostMs: number
  readonly factor: number
}

/** The delay after so many failures in a row (from 1): between half of what has grown and all of it. */
export const delayMs = ({ factor, firstMs, mostMs }: Policy, failures: number): Effect.Effect<number> => {
  const grown = Math.min(mostMs, firstMs * factor ** Math.max(0, failures - 1))
  return Effect.map(Random.next, (share) => grown * (0.5 + share / 2))
}
