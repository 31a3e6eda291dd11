/** A bucket of tokens for each key: so many at once, and one more after each time of refilling. */
export interface Limits {
  readonly burst: number
  readonly refillMs: number
  /** Of the keys, those that were asked for longest ago are forgotten. */
  readonly keysMax: number
}

export const make = ({ burst, keysMax, refillMs }: Limits) => {
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>()

  /** Takes a token, if there is one. */
  const take = (key: string, nowMs: number): boolean => {
    const bucket = buckets.get(key) ?? { tokens: burst, atMs: nowMs }
    const tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / refillMs)
    const taken = tokens >= 1
    buckets.delete(key)
    buckets.set(key, { tokens: taken ? tokens - 1 : tokens, atMs: nowMs })
    for (const oldest of buckets.keys()) {
      if (buckets.size <= keysMax) break
      buckets.delete(oldest)
    }
    return taken
  }
  return { take }
}
