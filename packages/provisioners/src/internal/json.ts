/** Comparing and changing JSON: what a merge patch (RFC 7386) has to say, and whether there is anything to say. */

export type JsonObject = { readonly [key: string]: unknown }

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Equal as JSON: a key whose value is undefined is no key. */
export const equal = (a: unknown, b: unknown): boolean => {
  // There is no -0, and no NaN, in JSON.
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => equal(item, b[index]))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => equal(a[key], b[key]))
}

/** The merge patch that makes `after` out of `before`; undefined where they are equal. */
export const difference = (before: unknown, after: JsonObject): JsonObject | undefined => {
  const old = isJsonObject(before) ? before : {}
  const changes: Array<readonly [string, unknown]> = []
  for (const key of new Set([...Object.keys(old), ...Object.keys(after)])) {
    const next = after[key]
    if (equal(old[key], next)) continue
    if (next === undefined) changes.push([key, null])
    else changes.push([key, isJsonObject(next) && isJsonObject(old[key]) ? difference(old[key], next) : next])
  }
  return changes.length === 0 ? undefined : Object.fromEntries(changes)
}
