/** Go's literals: quoted and raw strings, characters and numbers. */
import { syntax } from "./failure.ts"

const simple: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["b", 8],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
  ["\\", 92]
])
const lengths: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8]
])

interface Escaped {
  readonly code: number
  /** `\x` and octal escapes stand for a byte, the others for a character. */
  readonly byte: boolean
  readonly next: number
}

/** Reads the escape whose backslash stands at `at`. */
const escape = (text: string, at: number, quote: string, offset: number): Escaped => {
  const letter = text[at + 1] ?? ""
  const known = letter === quote ? quote.charCodeAt(0) : simple.get(letter)
  if (known !== undefined) return { code: known, byte: false, next: at + 2 }
  const digits = lengths.get(letter)
  const [start, length, base] = digits === undefined ? [at + 1, 3, 8] : [at + 2, digits, 16]
  const body = text.slice(start, start + length)
  if (body.length !== length || !(base === 8 ? /^[0-7]+$/u : /^[0-9A-Fa-f]+$/u).test(body)) {
    return syntax(offset, "a string or character has an escape that does not exist")
  }
  const code = Number.parseInt(body, base)
  const byte = letter === "x" || base === 8
  if (byte ? code > 255 : code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    return syntax(offset, "a string or character has an escape that is out of range")
  }
  return { code, byte, next: start + length }
}

/** The text of a quoted string, its quotes included. */
export const quoted = (token: string, offset: number): string => {
  const body = token.slice(1, -1)
  if (!body.includes("\\")) return body
  const parts: Array<Uint8Array> = []
  const encoder = new TextEncoder()
  for (let at = 0; at < body.length;) {
    const slash = body.indexOf("\\", at)
    if (slash !== at) {
      const end = slash < 0 ? body.length : slash
      parts.push(encoder.encode(body.slice(at, end)))
      at = end
      continue
    }
    const { byte, code, next } = escape(body, at, '"', offset)
    parts.push(byte ? Uint8Array.of(code) : encoder.encode(String.fromCodePoint(code)))
    at = next
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts))
  } catch {
    return syntax(offset, "the bytes of a string are not UTF-8")
  }
}

/** The text of a raw string, its quotes included; carriage returns vanish, as in Go. */
export const raw = (token: string): string => token.slice(1, -1).replaceAll("\r", "")

/** The number that a character constant stands for, its quotes included. */
export const character = (token: string, offset: number): bigint => {
  const body = token.slice(1, -1)
  if (body.startsWith("\\")) {
    const { code, next } = escape(body, 0, "'", offset)
    return next === body.length ? BigInt(code) : syntax(offset, "a character constant holds one character")
  }
  const [only, ...more] = Array.from(body)
  return only !== undefined && more.length === 0
    ? BigInt(only.codePointAt(0) ?? 0)
    : syntax(offset, "a character constant holds one character")
}

/** A number: what it is where any value fits, and the integer that it can also stand for. */
export interface Numeral {
  /** Undefined where only an unsigned integer would hold it: that fails when it is evaluated, as in Go. */
  readonly value: bigint | number | undefined
  readonly integer: bigint | undefined
}

const integerShape =
  /^[+-]?(?:0[xX](?:_?[0-9A-Fa-f])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/u
const floatShape = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/u

/** The number that this text stands for. Imaginary numbers and hexadecimal floats are not part of the subset. */
export const numeral = (text: string, offset: number): Numeral => {
  if (integerShape.test(text)) {
    const plain = text.replaceAll("_", "").replace(/^[+-]/u, "")
    const value = BigInt(/^0[0-7]+$/u.test(plain) ? `0o${plain.slice(1)}` : plain) * (text.startsWith("-") ? -1n : 1n)
    if (BigInt.asIntN(64, value) === value) return { value, integer: value }
    const unsigned = BigInt.asUintN(64, value) === value
    return unsigned ? { value: undefined, integer: undefined } : syntax(offset, `${text} does not fit in 64 bits`)
  }
  const value = Number(text)
  if (!floatShape.test(text) || !/[.eE]/u.test(text) || !Number.isFinite(value)) {
    return syntax(offset, `${text} is not a number`)
  }
  const integer = Number.isInteger(value) ? BigInt(value) : undefined
  return { value, integer: integer !== undefined && BigInt.asIntN(64, integer) === integer ? integer : undefined }
}
