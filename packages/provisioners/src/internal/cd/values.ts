/** Values of charts: merged, put in order, told apart by what is secret in them, and digested. */
import { createHmac } from "node:crypto"
import { Redacted } from "effect"
import type { Value, Values } from "../../CdDriver.ts"
import { isJsonObject, type JsonObject } from "../json.ts"

const isList = (value: Value | undefined): value is ReadonlyArray<Value> => Array.isArray(value)

export const isValues = (value: Value | undefined): value is Values =>
  typeof value === "object" && value !== null && !isList(value) && !Redacted.isRedacted(value)

/** Whether anything in it is secret. */
export const holdsSecret = (value: Value): boolean => {
  if (Redacted.isRedacted(value)) return true
  return isList(value) ? value.some(holdsSecret) : isValues(value) && Object.values(value).some(holdsSecret)
}

/** Keys in order, at every depth: the same values always give the same text. */
export const ordered = (value: Values): Values => {
  const order = (each: Value): Value => {
    if (isList(each)) return each.map(order)
    return isValues(each) ? ordered(each) : each
  }
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, order(each)]))
}

/** What nobody may see, in the open: only for a Secret, or for a file that nobody else reads. */
export const revealed = (value: Values): JsonObject => {
  const reveal = (each: Value): unknown => {
    if (Redacted.isRedacted(each)) return Redacted.value(each)
    if (isList(each)) return each.map(reveal)
    return isValues(each) ? revealed(each) : each
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, reveal(each)]))
}

/** The values in two parts that merge into the whole. A list with a secret in it is secret as a whole, since lists do not merge. */
export const split = (values: Values): { readonly open: Values; readonly secret: Values } => {
  const open: Array<readonly [string, Value]> = []
  const secret: Array<readonly [string, Value]> = []
  for (const [key, value] of Object.entries(values)) {
    if (!holdsSecret(value)) open.push([key, value])
    else if (!isValues(value)) secret.push([key, value])
    else {
      const parts = split(value)
      if (Object.keys(parts.open).length > 0) open.push([key, parts.open])
      secret.push([key, parts.secret])
    }
  }
  return { open: Object.fromEntries(open), secret: Object.fromEntries(secret) }
}

/** Every secret text in it, longest first, so that one which holds another is found whole. */
export const secretsOf = (value: Value): ReadonlyArray<string> => {
  const found: Array<string> = []
  const visit = (each: Value): void => {
    if (Redacted.isRedacted(each)) found.push(Redacted.value(each))
    else if (isList(each)) each.forEach(visit)
    else if (isValues(each)) Object.values(each).forEach(visit)
  }
  visit(value)
  return found.filter((text) => text !== "").sort((a, b) => b.length - a.length)
}

const hex = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** As it is, as a Secret's data and a URL have it, and as programs quote it: Go's JSON also writes `<`, `>` and `&` otherwise. */
const formsOf = (secret: string): ReadonlyArray<string> => {
  const quoted = JSON.stringify(secret).slice(1, -1)
  return [
    secret,
    Buffer.from(secret, "utf8").toString("base64"),
    encodeURIComponent(secret.toWellFormed()),
    quoted,
    quoted.replaceAll(/[<>&]/gu, hex)
  ]
}

/** A text that may quote secrets, without them. */
export const masked = (text: string, secrets: ReadonlyArray<string>): string =>
  secrets.flatMap(formsOf).reduce((rest, secret) => rest.replaceAll(secret, "***"), text)

type Key = string | number

/** Longer lists come in values, not by parameters. */
const indexMax = 65_535

/** `a.b[0].c` as Helm's `--set` reads it: a backslash takes away the meaning of the character after it. */
export const pathOf = (name: string): ReadonlyArray<Key> | undefined => {
  const token = /(?:^|(?<=.)\.)((?:\\.|[^.[\]\\])+)|\[(\d+)\]/gsuy
  const keys: Array<Key> = []
  while (token.lastIndex < name.length) {
    const [, key, index] = token.exec(name) ?? []
    if (key !== undefined) keys.push(key.replaceAll(/\\(.)/gsu, "$1"))
    else if (index !== undefined && keys.length > 0 && Number(index) <= indexMax) keys.push(Number(index))
    else return undefined
  }
  return keys.length === 0 ? undefined : keys
}

/** The values with one more in its place, over whatever is there. */
export const placed = (values: Values, path: ReadonlyArray<Key>, value: Value): Values => {
  const put = (at: Value | undefined, [key, ...rest]: ReadonlyArray<Key>): Value => {
    if (key === undefined) return value
    if (typeof key === "number") {
      const list = isList(at) ? [...at] : []
      while (list.length <= key) list.push(null)
      return list.map((each, index) => (index === key ? put(each, rest) : each))
    }
    const object = isValues(at) ? at : {}
    return { ...object, [key]: put(Object.hasOwn(object, key) ? object[key] : undefined, rest) }
  }
  const result = put(values, path)
  return isValues(result) ? result : values
}

/** The same JSON always gives the same text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    isJsonObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each
  )

/** A text that changes when what it is made of does, and from which nobody without the key can guess it. */
export const digest = (key: string, content: unknown): string =>
  createHmac("sha256", key).update(canonical(content)).digest("hex").slice(0, 40)
