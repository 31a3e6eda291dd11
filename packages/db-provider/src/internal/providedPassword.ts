/** A password that somebody put into a Secret, or a file. */
import type * as Builtin from "@berth/kube/Builtin"
import * as SecretData from "@berth/kube/SecretData"

/** What people put into a file, and from there into a Secret, often ends in a line break, which no password has. */
export const withoutEnd = (text: string): string => text.replace(/\r?\n$/u, "")

/** Empty where it is not there. */
export const of = ({ data }: Builtin.Secret, key: string): string =>
  withoutEnd(SecretData.decodeText(data?.[key] ?? ""))
