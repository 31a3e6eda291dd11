/** A Secret's data as text. Values are base64 on the wire; what is no UTF-8 comes out with replacement characters. */
import type * as Builtin from "@berth/kube/Builtin"

export const decoded = ({ data }: Pick<Builtin.Secret, "data">): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")])
  )

export const encoded = (texts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, "utf8").toString("base64")]))
