/** The functions that a template may call. */
import { createHash } from "node:crypto"
import type { Calling } from "./calling.ts"
import { printf } from "./printf.ts"
import { type Compared, equal, format, isFields, isList, less, quote, truth, type Value } from "./values.ts"

/** What a parameter takes. `scalar` is a string, int, float or bool, printed as Go prints it. */
export type Parameter = "any" | "string" | "int" | "scalar"

export interface TemplateFunction {
  readonly parameters: ReadonlyArray<Parameter>
  /** What further arguments are, where it takes any number of them. */
  readonly rest?: Parameter
  readonly call: (calling: Calling, args: ReadonlyArray<Value>) => Value
}

const text = (value: Value | undefined): string => (typeof value === "string" ? value : "")
const int = (value: Value | undefined): bigint => (typeof value === "bigint" ? value : 0n)
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value)

/** A function of one string. */
const ofString = (work: (value: string, calling: Calling) => string): TemplateFunction => ({
  parameters: ["string"],
  call: (calling, [value]) => work(text(value), calling)
})

/** A function of one scalar, printed. */
const ofScalar = (work: (value: string, calling: Calling) => string): TemplateFunction => ({
  parameters: ["scalar"],
  call: (calling, [value = null]) => work(format(value, calling.spend), calling)
})

const comparison = (compare: (a: Value, b: Value) => Compared<boolean>): TemplateFunction => ({
  parameters: ["any", "any"],
  call: (calling, [a = null, b = null]) => settled(calling, compare(a, b))
})

const settled = (calling: Calling, compared: Compared<boolean>): boolean =>
  "answer" in compared ? compared.answer : calling.refuse(compared.problem)

const negated = (compared: Compared<boolean>): Compared<boolean> =>
  "answer" in compared ? { answer: !compared.answer } : compared

const lessOrEqual = (a: Value, b: Value): Compared<boolean> => {
  const first = less(a, b)
  return "answer" in first && !first.answer ? equal(a, b) : first
}

/** The first argument equals one of the others. */
const eq: TemplateFunction = {
  parameters: ["any"],
  rest: "any",
  call: (calling, [first = null, ...others]) =>
    others.length === 0
      ? calling.refuse("eq needs something to compare with")
      : others.some((other) => settled(calling, equal(first, other)))
}

/** `and` and `or` as far as evaluated arguments go; the evaluation stops evaluating where the answer is known. */
const deciding = (stopsAt: boolean): TemplateFunction => ({
  parameters: ["any"],
  rest: "any",
  call: (_, args) => args.find((each) => truth(each) === stopsAt) ?? args[args.length - 1] ?? null
})

const length: TemplateFunction = {
  parameters: ["any"],
  call: (calling, [value = null]) => {
    if (typeof value === "string") return BigInt(Buffer.byteLength(value))
    if (isList(value)) return BigInt(value.length)
    return isFields(value) ? BigInt(Object.keys(value).length) : calling.refuse("len needs a string, list or map")
  }
}

/** Letter by letter, as Go does: a letter whose counterpart is more than one letter stays. */
const mapped = (value: string, map: (letter: string) => string, exceptions: ReadonlyMap<string, string>): string =>
  Array.from(value, (letter) => {
    const other = map(letter)
    return exceptions.get(letter) ?? (Array.from(other).length === 1 ? other : letter)
  }).join("")

// The letters that have a counterpart of one letter where the full rules of Unicode name several.
const titled = [0x1f80, 0x1f90, 0x1fa0].flatMap((row) =>
  Array.from({ length: 8 }, (_, index): [string, string] => [
    String.fromCodePoint(row + index),
    String.fromCodePoint(row + index + 8)
  ])
)
const upperExceptions = new Map([...titled, ["\u1fb3", "\u1fbc"], ["\u1fc3", "\u1fcc"], ["\u1ff3", "\u1ffc"]])
const lowerExceptions = new Map([["\u0130", "i"]])

/** The first `count` bytes, or the last `-count`, without the torn parts of a character at the cut. */
const trunc = (count: bigint, value: string): string => {
  const all = bytes(value)
  const size = BigInt(all.length)
  if (count >= 0n ? count >= size : -count >= size) return value
  const isInside = (at: number) => ((all[at] ?? 0) & 0xc0) === 0x80
  let cut = Number(count >= 0n ? count : size + count)
  while (isInside(cut)) cut += count >= 0n ? -1 : 1
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(count >= 0n ? all.subarray(0, cut) : all.subarray(cut))
}

const replace: TemplateFunction = {
  parameters: ["string", "string", "string"],
  call: (calling, args) => {
    const [from, to, value] = [text(args[0]), text(args[1]), text(args[2])]
    const parts = from === "" ? ["", ...Array.from(value), ""] : value.split(from)
    calling.fits(value.length + (parts.length - 1) * Math.max(0, to.length - from.length))
    return parts.join(to)
  }
}

const withoutZero = (value: string, calling: Calling, what: string): string =>
  value.includes("\0") ? calling.refuse(`${what} cannot hold a zero byte`) : value

const sqlIdent = (value: string, calling: Calling): string => {
  if (value === "") return calling.refuse("an SQL identifier cannot be empty")
  if (Buffer.byteLength(value) > 63) return calling.refuse("an SQL identifier cannot be longer than 63 bytes")
  return `"${withoutZero(value, calling, "an SQL identifier").replaceAll('"', '""')}"`
}

/** With a backslash the literal is written so that it means the same whatever `standard_conforming_strings` says. */
const sqlLiteral = (value: string, calling: Calling): string => {
  const doubled = withoutZero(value, calling, "an SQL literal").replaceAll("'", "''")
  return doubled.includes("\\") ? ` E'${doubled.replaceAll("\\", "\\\\")}'` : `'${doubled}'`
}

const urlEncode = (value: string): string =>
  encodeURIComponent(Buffer.from(value).toString()).replace(
    /[!'()*]/gu,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
  )

/** `print` puts a space between two values when neither is a string. */
const print = (calling: Calling, args: ReadonlyArray<Value>): string =>
  args
    .map((value, index) => {
      const apart = index > 0 && typeof value !== "string" && typeof args[index - 1] !== "string"
      return `${apart ? " " : ""}${format(value, calling.spend)}`
    })
    .join("")

const table: ReadonlyArray<readonly [string, TemplateFunction]> = [
  ["and", deciding(false)],
  ["or", deciding(true)],
  ["not", { parameters: ["any"], call: (_, [value = null]) => !truth(value) }],
  ["eq", eq],
  ["ne", comparison((a, b) => negated(equal(a, b)))],
  ["lt", comparison(less)],
  ["le", comparison(lessOrEqual)],
  ["gt", comparison((a, b) => negated(lessOrEqual(a, b)))],
  ["ge", comparison((a, b) => negated(less(a, b)))],
  ["len", length],
  ["print", { parameters: [], rest: "any", call: print }],
  ["printf", { parameters: ["string"], rest: "any", call: printf }],
  [
    "default",
    { parameters: ["any", "any"], call: (_, [fallback = null, value = null]) => (truth(value) ? value : fallback) }
  ],
  [
    "quote",
    {
      parameters: [],
      rest: "any",
      call: ({ spend }, args) =>
        args
          .filter((value) => value !== null)
          .map((value) => quote(format(value, spend)))
          .join(" ")
    }
  ],
  ["lower", ofString((value) => mapped(value, (letter) => letter.toLowerCase(), lowerExceptions))],
  ["upper", ofString((value) => mapped(value, (letter) => letter.toUpperCase(), upperExceptions))],
  ["trunc", { parameters: ["int", "string"], call: (_, [count, value]) => trunc(int(count), text(value)) }],
  ["replace", replace],
  ["b64enc", ofString((value) => Buffer.from(value).toString("base64"))],
  ["sha256sum", ofString((value) => createHash("sha256").update(value).digest("hex"))],
  [
    "shellQuote",
    ofScalar((value, calling) => `'${withoutZero(value, calling, "a shell word").replaceAll("'", `'\\''`)}'`)
  ],
  ["sqlIdent", ofScalar(sqlIdent)],
  ["sqlLiteral", ofScalar(sqlLiteral)],
  ["urlEncode", ofScalar(urlEncode)]
]

/** By name. `index` is not among them: the evaluation itself follows keys, so that it can name a missing one. */
export const functions: ReadonlyMap<string, TemplateFunction> = new Map(table)

export const isFunction = (name: string): boolean => name === "index" || functions.has(name)
