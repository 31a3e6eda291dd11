/**
 * Kubernetes quantities (`500m`, `1Gi`), exact.
 *
 * @since 0.1.0
 */

const FORM = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?$/u

const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

const DECIMAL: { readonly [suffix: string]: number } = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }

/** Quantities are counted in billionths, the smallest unit that Kubernetes keeps. */
const SCALE = 9

/** A quantity. */
export class Quantity {
  readonly nanos: bigint
  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** Reads a quantity; undefined when the text is none. */
export const parseQuantity = (text: string): Quantity | undefined => {
  const match = FORM.exec(text)
  if (match === null) return undefined
  const [, sign, digits = "0", suffix = ""] = match
  const [whole = "", fraction = ""] = digits.split(".")
  const binary = BINARY.indexOf(suffix)
  const exponent = /^[eE][+-]?\d/u.test(suffix) ? Number(suffix.slice(1)) : (DECIMAL[suffix] ?? 0)
  const power = SCALE + exponent - fraction.length
  const factor = binary < 0 ? 1n : 1024n ** BigInt(binary + 1)
  const mantissa = BigInt(`${whole}${fraction}` || "0") * factor
  const nanos = power >= 0 ? mantissa * 10n ** BigInt(power) : divideUp(mantissa, 10n ** BigInt(-power))
  return new Quantity(sign === "-" ? -nanos : nanos)
}

const divideUp = (value: bigint, divisor: bigint): bigint => (value + divisor - 1n) / divisor

const UNIT = 10n ** BigInt(SCALE)

export const isInteger = ({ nanos }: Quantity): boolean => nanos % UNIT === 0n

export const asInteger = ({ nanos }: Quantity): bigint => nanos / UNIT

export const asFloat = ({ nanos }: Quantity): number => Number(nanos) / Number(UNIT)

export const compareQuantities = (left: Quantity, right: Quantity): bigint =>
  left.nanos < right.nanos ? -1n : left.nanos > right.nanos ? 1n : 0n
