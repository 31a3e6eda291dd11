/**
 * Validates ConfigMaps and Secrets.
 *
 * @since 0.1.0
 */
import { Buffer } from "node:buffer"
import { type Cause, forbidden, invalid, required, tooLong } from "./causes.ts"
import { at, equal, has, isString, type JsonObject, objectOf, stringOf } from "./json.ts"
import { validateConfigKey } from "./names.ts"

/** The most bytes that the values may have together. */
const DATA_MAX = 1024 * 1024

const checkKeys = (data: JsonObject, path: string): ReadonlyArray<Cause> =>
  Object.keys(data).flatMap((key) => validateConfigKey(key).map((why) => invalid(`${path}[${key}]`, key, why)))

const decoded = (value: unknown): Buffer => Buffer.from(stringOf(value), "base64")

export const validateConfigMap = (object: JsonObject, old: JsonObject | undefined): ReadonlyArray<Cause> => {
  const texts = objectOf(object["data"])
  const binaries = objectOf(object["binaryData"])
  const size =
    Object.values(texts).reduce((sum: number, value) => sum + Buffer.byteLength(stringOf(value)), 0) +
    Object.values(binaries).reduce((sum: number, value) => sum + decoded(value).length, 0)
  return [
    ...checkKeys(texts, "data"),
    ...Object.keys(texts)
      .filter((key) => has(binaries, key))
      .map((key) => invalid(`data[${key}]`, key, "duplicate of key present in binaryData")),
    ...checkKeys(binaries, "binaryData"),
    // The real server prints an empty path so.
    ...(size > DATA_MAX ? [tooLong("[]", DATA_MAX)] : []),
    ...validateImmutable(object, old, ["data", "binaryData"])
  ]
}

const IMMUTABLE = "field is immutable when `immutable` is set"

const validateImmutable = (
  object: JsonObject,
  old: JsonObject | undefined,
  fields: ReadonlyArray<string>
): ReadonlyArray<Cause> => {
  if (old?.["immutable"] !== true) return []
  return [
    ...(object["immutable"] === true ? [] : [forbidden("immutable", IMMUTABLE)]),
    ...fields
      .filter((field) => !equal(objectOf(object[field]), objectOf(old[field])))
      .map((field) => forbidden(field, IMMUTABLE))
  ]
}

const NEEDED: { readonly [type: string]: ReadonlyArray<string> } = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"]
}

export const validateSecret = (object: JsonObject, old: JsonObject | undefined): ReadonlyArray<Cause> => {
  const data = objectOf(object["data"])
  const type = stringOf(object["type"])
  const size = Object.values(data).reduce((sum: number, value) => sum + decoded(value).length, 0)
  return [
    ...checkKeys(data, "data"),
    ...(size > DATA_MAX ? [tooLong("data", DATA_MAX)] : []),
    ...validateType(object, data, type),
    ...(old !== undefined && !equal(old["type"], object["type"]) ? [invalid("type", type, "field is immutable")] : []),
    ...validateImmutable(object, old, ["data"])
  ]
}

const validateType = (object: JsonObject, data: JsonObject, type: string): ReadonlyArray<Cause> => {
  if (type === "kubernetes.io/basic-auth" && !has(data, "username") && !has(data, "password")) {
    return [required("data[username]"), required("data[password]")]
  }
  if (type === "kubernetes.io/service-account-token") {
    const account = at(object, "metadata", "annotations", "kubernetes.io/service-account.name")
    return isString(account) && account !== ""
      ? []
      : [required("metadata.annotations[kubernetes.io/service-account.name]")]
  }
  const needed = Object.hasOwn(NEEDED, type) ? (NEEDED[type] ?? []) : []
  const missing = needed.filter((key) => !has(data, key)).map((key) => required(`data[${key}]`))
  const isDocker = type.startsWith("kubernetes.io/docker")
  return isDocker
    ? [...missing, ...needed.flatMap((key) => (has(data, key) ? checkJson(data[key], key) : []))]
    : missing
}

const checkJson = (value: unknown, key: string): ReadonlyArray<Cause> => {
  const text = decoded(value).toString("utf8")
  try {
    JSON.parse(text)
    return []
  } catch {
    // Only the first character is named: the rest is a secret.
    const why = `invalid character '${text.trimStart().slice(0, 1)}' looking for beginning of value`
    return [invalid(`data[${key}]`, "<secret contents redacted>", why)]
  }
}
