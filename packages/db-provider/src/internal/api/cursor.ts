/** Where a page begins: after this id. It is of no other use, so it is written such that nobody takes it for an id. */
import { Option } from "effect"

const prefix = "after:"

export const encode = (id: string): string => Buffer.from(`${prefix}${id}`, "utf8").toString("base64url")

export const decode = (cursor: string): Option.Option<string> => {
  const text = Buffer.from(cursor, "base64url").toString("utf8")
  return text.startsWith(prefix) && encode(text.slice(prefix.length)) === cursor
    ? Option.some(text.slice(prefix.length))
    : Option.none()
}
