/**
 * JSON merge patch (RFC 7386) and JSON patch (RFC 6902).
 *
 * **Guarantees**
 * - T3: neither changes its inputs; a patch that cannot be applied says why in the real server's words.
 *
 * @since 0.1.0
 */
import { type Operation, applyPatch } from "rfc6902"
import { at, clone, has, isArray, isObject, isString, type JsonObject, put } from "./json.ts"

/** The patched document, or why the patch was refused and with which HTTP status. */
export type Patched = { readonly ok: unknown } | { readonly error: string; readonly status: 400 | 422 | 500 }

/** Applies a merge patch: null removes, objects merge, everything else replaces. */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return clone(patch)
  const result: JsonObject = isObject(target) ? clone(target) : {}
  for (const key of Object.keys(patch)) {
    const value = patch[key]
    if (value === null) delete result[key]
    else put(result, key, mergePatch(has(result, key) ? result[key] : undefined, value))
  }
  return result
}

/** The only thing that a real server says of a JSON patch that does not apply. */
const REJECTED = "the server rejected our request due to an error in our request"

/**
 * Applies the operations of a JSON patch in order; the first that fails refuses the whole.
 *
 * **Details**: laxer than the RFC where a real server is: `replace` of an absent member adds it, `copy` from an absent
 * member copies null, a `test` for null holds of an absent member.
 */
export const jsonPatch = (target: unknown, patch: unknown): Patched => {
  if (!isArray(patch)) {
    const actual = isObject(patch) ? "object" : typeof patch
    return {
      error: `error decoding patch: json: cannot unmarshal ${actual} into Go value of type []handlers.jsonPatchOp`,
      status: 400
    }
  }
  // One extra level makes the whole document a member, so that the root itself can be replaced.
  const document: JsonObject = { root: clone(target) }
  for (const raw of patch) {
    const operation = readOperation(raw, document)
    if (operation === undefined || !applies(document, operation)) return { error: REJECTED, status: 422 }
  }
  return { ok: document["root"] }
}

/** What stands before the first slash of a pointer means nothing. */
const pointer = (path: string): string => (path === "" ? "/root" : `/root/${path.split("/").slice(1).join("/")}`)

const keysOf = (path: string): ReadonlyArray<string> =>
  path
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"))

const valueAt = (document: JsonObject, path: string): unknown =>
  keysOf(path).reduce<unknown>((value, key) => {
    if (isArray(value)) return value[Number(key)]
    return isObject(value) && has(value, key) ? value[key] : undefined
  }, document)

/** The pointer without indexes that count from the end, which a real server takes. */
const fromStart = (document: JsonObject, path: string, op: string): string => {
  const keys = path.split("/").slice(1)
  return keys.reduce((known, key, index) => {
    const list = /^-\d+$/u.test(key) ? valueAt(document, known) : undefined
    if (!isArray(list)) return `${known}/${key}`
    // Something can be added after the last one.
    const length = list.length + (op === "add" && index === keys.length - 1 ? 1 : 0)
    return `${known}/${length + Number(key)}`
  }, "")
}

const readOperation = (raw: unknown, document: JsonObject): Operation | undefined => {
  const [op, sent, source] = [at(raw, "op"), at(raw, "path"), at(raw, "from")]
  if (!isObject(raw) || !isString(op) || !isString(sent)) return undefined
  // The whole can be tested and replaced, and nothing else.
  if (sent === "" && op !== "test" && op !== "replace") return undefined
  const path = fromStart(document, pointer(sent), op)
  if (keysOf(path).includes("__proto__")) return undefined
  const value = has(raw, "value") ? raw["value"] : null
  switch (op) {
    case "add":
    case "test":
      return { op, path, value }
    case "replace":
      return isArray(parentOf(document, path)) ? { op, path, value } : { op: "add", path, value }
    case "remove":
      return { op, path }
    case "move":
      return isString(source) ? { op, path, from: pointer(source) } : undefined
    case "copy":
      return isString(source) ? { op: "add", path, value: valueAt(document, pointer(source)) ?? null } : undefined
    default:
      return undefined
  }
}

const parentOf = (document: JsonObject, path: string): unknown =>
  valueAt(document, path.slice(0, path.lastIndexOf("/")))

const applies = (document: JsonObject, operation: Operation): boolean => {
  const isNullTest = operation.op === "test" && operation.value === null
  if (isNullTest && (valueAt(document, operation.path) ?? null) === null) return true
  const parent = parentOf(document, operation.path)
  if (!isObject(parent) && !isArray(parent)) return false
  try {
    const [failure] = applyPatch(document, [operation])
    return failure === null
  } catch {
    // A malformed pointer is refused like any other operation that does not apply.
    return false
  }
}
