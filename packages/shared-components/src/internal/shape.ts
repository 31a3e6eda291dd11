/** What a template's context has at a place, as far as it is known before anything is rendered. */

/**
 * A value without keys; anything at all; or a map of these keys and no others. Of a map that is not `whole` only single keys may
 * be read: it has no meaning as a value, or would give away more than is meant.
 */
export type Shape =
  | { readonly type: "Value" }
  | { readonly type: "Anything" }
  | { readonly type: "Map"; readonly keys: ReadonlyMap<string, Shape>; readonly whole: boolean }
  | { readonly type: "Keys"; readonly each: Shape }

export const value: Shape = { type: "Value" }
export const anything: Shape = { type: "Anything" }

/** A map of exactly these keys. */
export const map = (entries: Iterable<readonly [string, Shape]>): Shape => ({
  type: "Map",
  keys: new Map(entries),
  whole: false
})

/** A map of exactly these keys, each with a text. */
export const texts = (keys: Iterable<string>): Shape => map(Array.from(keys, (key) => [key, value] as const))

/** A map of texts by keys that are not known. */
export const unknownTexts: Shape = { type: "Keys", each: value }

const isRecord = (schema: unknown): schema is Readonly<Record<string, unknown>> =>
  typeof schema === "object" && schema !== null && !Array.isArray(schema)

const schemaDepthMax = 32

/** What a JSON Schema says about keys. Only a closed object has no others than those that it names. */
export const ofSchema = (schema: unknown, depth = 0): Shape => {
  if (!isRecord(schema) || depth > schemaDepthMax) return anything
  const { additionalProperties, patternProperties, properties, type } = schema
  const closed = additionalProperties === false && patternProperties === undefined
  if (!closed || (type !== undefined && type !== "object")) return anything
  const known = isRecord(properties) ? Object.entries(properties) : []
  return { type: "Map", keys: new Map(known.map(([key, inner]) => [key, ofSchema(inner, depth + 1)])), whole: true }
}

/** How a key is written behind a path. */
export const step = (key: string): string => {
  if (/^[0-9]+$/u.test(key)) return `[${key}]`
  return /^[\p{L}\p{Nd}_]+(?:-+[\p{L}\p{Nd}_]+)*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

/** A path as a template writes it. */
export const dotted = (path: ReadonlyArray<string | undefined>): string =>
  path.length === 0 ? "." : path.map((key) => (key === undefined ? "[…]" : step(key))).join("")

export type Misfit =
  | {
      readonly type: "Unknown"
      readonly path: ReadonlyArray<string | undefined>
      readonly available: ReadonlyArray<string>
    }
  | { readonly type: "Dynamic"; readonly path: ReadonlyArray<string | undefined> }
  | { readonly type: "Incomplete"; readonly path: ReadonlyArray<string | undefined> }

/** Why a path does not fit a shape; undefined where it does. */
export const misfit = (shape: Shape, path: ReadonlyArray<string | undefined>): Misfit | undefined => {
  let at = shape
  for (const [index, key] of path.entries()) {
    if (at.type === "Anything") return undefined
    const here = path.slice(0, index + 1)
    if (at.type === "Value") return { type: "Unknown", path: here, available: [] }
    // A key that is not known beforehand may be any of those that there are, if the map may be read as a whole.
    if (key === undefined) return at.type === "Map" && at.whole ? undefined : { type: "Dynamic", path: here }
    const next = at.type === "Keys" ? at.each : at.keys.get(key)
    if (next === undefined)
      return { type: "Unknown", path: here, available: at.type === "Map" ? [...at.keys.keys()] : [] }
    at = next
  }
  const whole = at.type === "Value" || at.type === "Anything" || (at.type === "Map" && at.whole)
  return whole ? undefined : { type: "Incomplete", path }
}
