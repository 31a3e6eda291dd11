/** `printf` with the verbs that templates need: `%s`, `%v`, `%d`, `%q`, `%t` and `%%`, each with a width and the flags `-` and `0`. */
import type { Calling } from "./calling.ts"
import { format, quote, type Value } from "./values.ts"

const widthMax = 1000

const verb = (calling: Calling, letter: string, value: Value): string => {
  if (letter === "v") return format(value, calling.spend)
  if (letter === "s" && typeof value === "string") return value
  if (letter === "q" && typeof value === "string") return quote(value)
  if (letter === "d" && typeof value === "bigint") return String(value)
  if (letter === "t" && typeof value === "boolean") return String(value)
  return calling.refuse(`printf's %${letter} does not fit the type of its argument`)
}

const padded = (text: string, flags: string, width: number): string => {
  const missing = width - Array.from(text).length
  if (missing <= 0) return text
  if (flags.includes("-")) return text + " ".repeat(missing)
  if (!flags.includes("0")) return " ".repeat(missing) + text
  const sign = /^[+-]/u.test(text) ? text.slice(0, 1) : ""
  return sign + "0".repeat(missing) + text.slice(sign.length)
}

export const printf = (calling: Calling, [first = null, ...values]: ReadonlyArray<Value>): string => {
  const pattern = typeof first === "string" ? first : ""
  let used = 0
  const made = pattern.replace(/%([-0]*)([0-9]*)([\s\S]?)/gu, (_, flags: string, digits: string, letter: string) => {
    if (letter === "%" && flags === "" && digits === "") return "%"
    const width = Number(digits)
    if (!"svdqt".includes(letter) || letter === "") return calling.refuse("printf knows only %s, %v, %d, %q, %t and %%")
    if (width > widthMax) return calling.refuse(`printf's widths end at ${widthMax}`)
    if (flags.includes("0") && letter !== "d") return calling.refuse("printf fills with zeros for %d only")
    const value = values[used]
    used++
    if (value === undefined) return calling.refuse("printf has fewer arguments than its format has verbs")
    calling.spend(width)
    return padded(verb(calling, letter, value), flags, width)
  })
  return used === values.length ? made : calling.refuse("printf has more arguments than its format has verbs")
}
