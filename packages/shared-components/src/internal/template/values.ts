/** The values of templates, and how Go prints and compares them. */

/** A JSON value, in which a bigint is Go's int and a number its float64. */
export type Value = string | boolean | bigint | number | null | List | Fields
export type List = ReadonlyArray<unknown>
export interface Fields {
  readonly [key: string]: unknown
}

export const isList = (value: unknown): value is List => Array.isArray(value)
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A value from the context; undefined for what JSON cannot hold. A whole number becomes an int, as Kubernetes decodes it. */
export const lift = (value: unknown): Value | undefined => {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value
  return isList(value) || isFields(value) ? value : undefined
}

export type TypeName = "string" | "bool" | "int" | "float" | "nil" | "list" | "map"

export const typeName = (value: Value): TypeName => {
  if (value === null) return "nil"
  if (typeof value === "string") return "string"
  if (typeof value === "boolean") return "bool"
  if (typeof value === "bigint") return "int"
  if (typeof value === "number") return "float"
  return isList(value) ? "list" : "map"
}

/** Go's truth: everything but nil, false, zero and what is empty. */
export const truth = (value: Value): boolean => {
  if (isList(value)) return value.length > 0
  return isFields(value) ? Object.keys(value).length > 0 : Boolean(value)
}

const encoder = new TextEncoder()

/** The order of Go's strings, by their UTF-8 bytes. */
export const compareStrings = (a: string, b: string): number => Buffer.compare(encoder.encode(a), encoder.encode(b))

export const sortedKeys = (fields: Fields): ReadonlyArray<string> => Object.keys(fields).sort(compareStrings)

/** The shortest text that reads back as this number, in Go's `%v`. */
const float = (value: number): string => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e")
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= 6) {
    return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
  }
  if (Object.is(value, -0)) return "-0"
  if (exponent >= 0) return String(value)
  const digits = mantissa.replace(/[-.]/gu, "")
  return `${value < 0 ? "-" : ""}0.${"0".repeat(-exponent - 1)}${digits}`
}

const printedDepthMax = 200

/** As Go's `%v` prints a value. `spend` is called with each piece's size, and with all that there is where it stands too deep. */
export const format = (value: Value | undefined, spend: (size: number) => void, depth = 0): string => {
  const text = (inner: unknown): string => format(lift(inner), spend, depth + 1)
  spend(depth > printedDepthMax ? Number.POSITIVE_INFINITY : 1)
  if (value === null || value === undefined) return "<nil>"
  if (typeof value === "string") return value
  if (typeof value === "number") return float(value)
  if (isList(value)) return `[${value.map(text).join(" ")}]`
  if (isFields(value)) {
    const pairs = sortedKeys(value).map((key) => `${key}:${text(value[key])}`)
    return `map[${pairs.join(" ")}]`
  }
  return String(value)
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"']
])

const quoteCharacter = (character: string): string => {
  const known = escapes.get(character)
  if (known !== undefined) return known
  if (character === " " || /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character)) return character
  const hex = (character.codePointAt(0) ?? 0).toString(16)
  if (hex.length <= 2 && Number.parseInt(hex, 16) < 0x80) return `\\x${hex.padStart(2, "0")}`
  return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`
}

/** A string as Go's `%q` writes it. */
export const quote = (text: string): string => `"${Array.from(text, quoteCharacter).join("")}"`

/** Why two values cannot be compared, or whether they are equal. */
export type Compared<A> = { readonly answer: A } | { readonly problem: string }

const incomparable = (a: Value, b: Value): { readonly problem: string } => ({
  problem: `a ${typeName(a)} and a ${typeName(b)} cannot be compared`
})

export const equal = (a: Value, b: Value): Compared<boolean> => {
  if (a === null || b === null) return { answer: a === b }
  const type = typeName(a)
  return type !== typeName(b) || type === "list" || type === "map" ? incomparable(a, b) : { answer: a === b }
}

export const less = (a: Value, b: Value): Compared<boolean> => {
  if (typeof a === "string" && typeof b === "string") return { answer: compareStrings(a, b) < 0 }
  const ints = typeof a === "bigint" && typeof b === "bigint"
  const floats = typeof a === "number" && typeof b === "number"
  return ints || floats ? { answer: a < b } : incomparable(a, b)
}
