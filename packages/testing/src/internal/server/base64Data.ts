/**
 * What a Secret holds, and what is binary in a ConfigMap, has to be base64.
 */
import { badRequest } from "./apiError.ts"
import { fields, type Obj } from "./json.ts"
import type { Resource } from "./resource.ts"

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u

/** @internal */
export const checkBase64 = ({ kind, storage }: Resource, object: Obj): void => {
  if (storage !== "secrets" && storage !== "configmaps") return
  for (const value of Object.values(fields(object[storage === "secrets" ? "data" : "binaryData"]))) {
    if (typeof value !== "string" || base64.test(value)) continue
    const illegal = value.search(/[^A-Za-z0-9+/]/u)
    throw badRequest(
      `${kind} in version "v1" cannot be handled as a ${kind}: illegal base64 data at input byte ${Math.max(0, illegal)}`
    )
  }
}
