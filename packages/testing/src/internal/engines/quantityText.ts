/**
 * Quantities in the one spelling in which a real server gives them back: `1000m` is `1`, and `0.5` is `500m`.
 *
 * @since 0.1.0
 */
import { isInteger, asInteger, parseQuantity } from "./celQuantity.ts"

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
const DECIMAL: { readonly [exponent: number]: string } = {
  [-9]: "n",
  [-6]: "u",
  [-3]: "m",
  0: "",
  3: "k",
  6: "M",
  9: "G",
  12: "T",
  15: "P",
  18: "E"
}
const NANO = -9
const LARGEST = 18

const absolute = (value: bigint): bigint => (value < 0n ? -value : value)

/** Takes a factor out of a number as often as it goes, but not more often than there are names for. */
const reduced = (value: bigint, factor: bigint, timesMax: number) => {
  let rest = value
  let times = 0
  while (times < timesMax && rest % factor === 0n) {
    rest /= factor
    times += 1
  }
  return { rest, times }
}

const spelled = (text: string): string | undefined => {
  const quantity = parseQuantity(text)
  if (quantity === undefined) return undefined
  if (quantity.nanos === 0n) return "0"
  // Small numbers of bytes, and parts of a byte, are not told in powers of two.
  if (text.endsWith("i") && isInteger(quantity) && absolute(asInteger(quantity)) >= 1024n) {
    const { rest, times } = reduced(asInteger(quantity), 1024n, BINARY.length - 1)
    return `${rest}${BINARY[times] ?? ""}`
  }
  const { rest, times } = reduced(quantity.nanos, 1000n, (LARGEST - NANO) / 3)
  const exponent = NANO + 3 * times
  if (!/[eE][+-]?\d+$/u.test(text)) return `${rest}${DECIMAL[exponent] ?? ""}`
  return exponent === 0 ? String(rest) : `${rest}e${exponent}`
}

/** The spelling of a real server; undefined where the value is no quantity. */
export const canonicalQuantity = (value: unknown): string | undefined => {
  if (typeof value !== "string" && typeof value !== "number") return undefined
  const text = String(value)
  const canonical = spelled(text)
  // A sign or a zero in front stays, where nothing else has to change.
  return text.replace(/^\+?0*(?=\d)/u, "") === canonical ? text : canonical
}
