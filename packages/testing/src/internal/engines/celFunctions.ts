/**
 * The functions that Kubernetes adds to CEL: texts, lists, sets, regular expressions and quantities.
 *
 * **Caveats**
 * - Registered under a signature for checking and, where the library tells list types apart only when checking,
 *   under another for running.
 *
 * @since 0.1.0
 */
import { asFloat, asInteger, compareQuantities, isInteger, parseQuantity, Quantity } from "./celQuantity.ts"
import { equalCel } from "./celValues.ts"
import { compileRegex } from "./regex.ts"

/** A function's signature, and what it does. Its arguments have the types that the signature names. */
export interface CelFunction {
  readonly check: ReadonlyArray<string>
  readonly run: string
  // The library calls with arguments of the types in the signature.
  readonly handler: (...args: ReadonlyArray<never>) => unknown
}

const same = (signature: string, handler: CelFunction["handler"]): CelFunction => ({
  check: [signature],
  run: signature,
  handler
})

const overList = (
  name: string,
  params: string,
  result: (item: string) => string,
  items: ReadonlyArray<string>,
  handler: CelFunction["handler"]
): CelFunction => ({
  check: items.map((item) => `list<${item}>.${name}(${params === "item" ? item : params}): ${result(item)}`),
  run: `list.${name}(${params === "item" ? "dyn" : params}): dyn`,
  handler
})

type Ordered = bigint | number | string | boolean | Date

const ORDERED = ["int", "double", "string", "bool", "google.protobuf.Timestamp", "google.protobuf.Duration"]
const ANY = [...ORDERED, "bytes", "dyn"]

const nonEmpty = <A>(list: ReadonlyArray<A>, name: string): ReadonlyArray<A> => {
  if (list.length === 0) throw new Error(`${name} called on empty list`)
  return list
}

const regex = (pattern: string): RegExp => {
  const compiled = compileRegex(pattern)
  if (compiled === undefined) throw new Error(`error parsing regexp: ${pattern}`)
  return compiled
}

const lists: ReadonlyArray<CelFunction> = [
  overList(
    "isSorted",
    "",
    () => "bool",
    ORDERED,
    (list: ReadonlyArray<Ordered>) => list.every((item, index) => index === 0 || (list[index - 1] ?? item) <= item)
  ),
  overList(
    "sum",
    "",
    (item) => item,
    ["int", "double"],
    (list: ReadonlyArray<bigint | number>) =>
      list.every((item) => typeof item === "bigint")
        ? list.reduce((sum, item) => sum + item, 0n)
        : list.reduce((sum: number, item) => sum + Number(item), 0)
  ),
  overList(
    "min",
    "",
    (item) => item,
    ORDERED,
    (list: ReadonlyArray<Ordered>) => nonEmpty(list, "min").reduce((least, item) => (item < least ? item : least))
  ),
  overList(
    "max",
    "",
    (item) => item,
    ORDERED,
    (list: ReadonlyArray<Ordered>) => nonEmpty(list, "max").reduce((most, item) => (item > most ? item : most))
  ),
  overList(
    "indexOf",
    "item",
    () => "int",
    ANY,
    (list: ReadonlyArray<unknown>, wanted: unknown) => BigInt(list.findIndex((item) => equalCel(item, wanted)))
  ),
  overList(
    "lastIndexOf",
    "item",
    () => "int",
    ANY,
    (list: ReadonlyArray<unknown>, wanted: unknown) => BigInt(list.findLastIndex((item) => equalCel(item, wanted)))
  )
]

const texts: ReadonlyArray<CelFunction> = [
  same("string.matchesRegex(string): bool", (text: string, pattern: string) => regex(pattern).test(text)),
  same("string.find(string): string", (text: string, pattern: string) => regex(pattern).exec(text)?.[0] ?? ""),
  same("string.findAll(string): list<string>", (text: string, pattern: string) => findAll(text, pattern, -1)),
  same("string.findAll(string, int): list<string>", (text: string, pattern: string, limit: bigint) =>
    findAll(text, pattern, Number(limit))
  ),
  same("string.replace(string, string): string", (text: string, from: string, to: string) =>
    text.replaceAll(from, () => to)
  ),
  same("string.replace(string, string, int): string", (text: string, from: string, to: string, limit: bigint) =>
    replaceSome(text, from, to, Number(limit))
  ),
  same("string.charAt(int): string", (text: string, index: bigint) => {
    if (index < 0n || index > BigInt(text.length)) throw new Error(`index out of range: ${index}`)
    return text.charAt(Number(index))
  }),
  same("string.format(list): string", (format: string, values: ReadonlyArray<unknown>) => formatText(format, values))
]

const findAll = (text: string, pattern: string, limit: number): ReadonlyArray<string> => {
  const base = regex(pattern)
  const found = [...text.matchAll(new RegExp(base.source, `${base.flags}g`))].map((match) => match[0])
  return limit < 0 ? found : found.slice(0, limit)
}

const replaceSome = (text: string, from: string, to: string, limit: number): string => {
  if (limit < 0) return text.replaceAll(from, () => to)
  let count = 0
  return text.replaceAll(from, (match) => (count++ < limit ? to : match))
}

const formatText = (format: string, values: ReadonlyArray<unknown>): string => {
  let index = 0
  return format.replaceAll(
    /%(?:%|(?:\.(\d+))?([sdfexXob]))/gu,
    (match, digits: string | undefined, verb: string | undefined) => {
      if (match === "%%") return "%"
      const value = values[index]
      index += 1
      if (verb === "f") return Number(value).toFixed(digits === undefined ? 6 : Number(digits))
      if (verb === "x" && typeof value === "bigint") return value.toString(16)
      if (verb === "X" && typeof value === "bigint") return value.toString(16).toUpperCase()
      if (verb === "o" && typeof value === "bigint") return value.toString(8)
      if (verb === "b" && typeof value === "bigint") return value.toString(2)
      return String(value)
    }
  )
}

const SETS = "kubernetes.Sets"
const containsAll = (list: ReadonlyArray<unknown>, wanted: ReadonlyArray<unknown>): boolean =>
  wanted.every((item) => list.some((other) => equalCel(item, other)))

const sets: ReadonlyArray<CelFunction> = [
  same(
    `${SETS}.contains(list, list): bool`,
    (_sets: unknown, list: ReadonlyArray<unknown>, wanted: ReadonlyArray<unknown>) => containsAll(list, wanted)
  ),
  same(
    `${SETS}.equivalent(list, list): bool`,
    (_sets: unknown, left: ReadonlyArray<unknown>, right: ReadonlyArray<unknown>) =>
      containsAll(left, right) && containsAll(right, left)
  ),
  same(
    `${SETS}.intersects(list, list): bool`,
    (_sets: unknown, left: ReadonlyArray<unknown>, right: ReadonlyArray<unknown>) =>
      left.some((item) => right.some((other) => equalCel(item, other)))
  )
]

const Q = "kubernetes.Quantity"

const quantity = (text: string): Quantity => {
  const parsed = parseQuantity(text)
  if (parsed === undefined) {
    throw new Error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
  }
  return parsed
}

const plus = (left: Quantity, right: Quantity | bigint, sign: bigint): Quantity =>
  new Quantity(left.nanos + sign * (typeof right === "bigint" ? right * 10n ** 9n : right.nanos))

const quantities: ReadonlyArray<CelFunction> = [
  same(`quantity(string): ${Q}`, quantity),
  same("isQuantity(string): bool", (text: string) => parseQuantity(text) !== undefined),
  same(`${Q}.isGreaterThan(${Q}): bool`, (left: Quantity, right: Quantity) => left.nanos > right.nanos),
  same(`${Q}.isLessThan(${Q}): bool`, (left: Quantity, right: Quantity) => left.nanos < right.nanos),
  same(`${Q}.compareTo(${Q}): int`, compareQuantities),
  same(`${Q}.add(${Q}): ${Q}`, (left: Quantity, right: Quantity) => plus(left, right, 1n)),
  same(`${Q}.add(int): ${Q}`, (left: Quantity, right: bigint) => plus(left, right, 1n)),
  same(`${Q}.sub(${Q}): ${Q}`, (left: Quantity, right: Quantity) => plus(left, right, -1n)),
  same(`${Q}.sub(int): ${Q}`, (left: Quantity, right: bigint) => plus(left, right, -1n)),
  same(`${Q}.sign(): int`, ({ nanos }: Quantity) => (nanos < 0n ? -1n : nanos > 0n ? 1n : 0n)),
  same(`${Q}.isInteger(): bool`, isInteger),
  same(`${Q}.asInteger(): int`, (value: Quantity) => {
    if (!isInteger(value)) throw new Error("cannot convert value to integer")
    return asInteger(value)
  }),
  same(`${Q}.asApproximateFloat(): double`, asFloat)
]

/** The functions of this module, and the types and constants that they need. */
export const functions: ReadonlyArray<CelFunction> = [...lists, ...texts, ...sets, ...quantities]
