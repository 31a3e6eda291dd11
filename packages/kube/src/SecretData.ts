/**
 * The data of Secrets as text: on the wire its values are base64.
 *
 * **Caveats**
 * - What is no UTF-8 comes out with replacement characters.
 *
 * @since 0.1.0
 */
import type * as Builtin from "./Builtin.ts"

/**
 * One value, as it goes into a Secret's `data`.
 *
 * @category conversions
 * @since 0.1.0
 */
export const encodeText = (text: string): string => Buffer.from(text, "utf8").toString("base64")

/**
 * One value of a Secret's `data`.
 *
 * @category conversions
 * @since 0.1.0
 */
export const decodeText = (base64: string): string => Buffer.from(base64, "base64").toString("utf8")

/**
 * A Secret's `data`.
 *
 * **Example** (A Secret with a password)
 * ```ts
 * import * as SecretData from "@berth/kube/SecretData"
 *
 * export const draft = (password: string) => ({
 *   metadata: { name: "login", namespace: "shop" },
 *   data: SecretData.encode({ user: "shop", password })
 * })
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const encode = (texts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, encodeText(text)]))

/**
 * What a Secret has, by key.
 *
 * @category conversions
 * @since 0.1.0
 */
export const decode = ({ data }: Pick<Builtin.Secret, "data">): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, decodeText(value)]))
