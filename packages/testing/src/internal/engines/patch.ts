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
export type Patched = { readonly ok: unknown } | { readonly error: string; readonly status: 400 | 422 }

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

/** Applies the operations of a JSON patch in order; the first that fails refuses the whole. */
export const jsonPatch = (target: unknown, patch: unknown): Patched => {
  if (!isArray(patch)) {
    return { error: "json: cannot unmarshal object into Go value of type jsonpatch.Patch", status: 400 }
  }
  let document: JsonObject = { root: clone(target) }
  for (const operation of patch) {
    const read = readOperation(operation)
    if ("error" in read) return read
    const failure = applyOne(document, read.ok)
    if (failure !== undefined) return { error: failure, status: 422 }
  }
  return { ok: document["root"] }
}

const OPERATIONS = new Set(["add", "remove", "replace", "move", "copy", "test"])

const readOperation = (operation: unknown): { readonly ok: Operation } | { error: string; status: 400 | 422 } => {
  const op = at(operation, "op")
  if (!isObject(operation) || !isString(op) || !OPERATIONS.has(op)) {
    return { error: `Unexpected kind: ${isString(op) ? op : "unknown"}`, status: 422 }
  }
  const { path, from } = operation
  if (!isString(path)) return { error: `${op} operation failed to decode path: missing value`, status: 422 }
  const needsFrom = op === "move" || op === "copy"
  if (needsFrom && !isString(from))
    return { error: `${op} operation failed to decode from: missing value`, status: 422 }
  const value = has(operation, "value") ? operation["value"] : null
  // One extra level makes the whole document a member, so that the root itself can be replaced.
  const nested = needsFrom
    ? { op, path: `/root${path}`, from: `/root${String(from)}` }
    : { op, path: `/root${path}`, value }
  return { ok: nested as Operation }
}

const applyOne = (document: JsonObject, operation: Operation): string | undefined => {
  const path = operation.path.slice("/root".length)
  const segments = path.split("/").slice(1)
  if (segments.some((segment) => segment === "__proto__"))
    return `${operation.op} operation does not apply: doc is missing path: "${path}": missing value`
  if (operation.op === "test" && operation.value === null && isMissing(document, operation.path)) return undefined
  const [failure] = attempt(document, operation)
  if (failure === undefined || failure === null) return undefined
  if (operation.op === "test") return `testing value ${path} failed: test failed`
  return `${operation.op} operation does not apply: doc is missing path: "${path}": missing value`
}

const attempt = (document: JsonObject, operation: Operation): ReadonlyArray<Error | null> => {
  try {
    return applyPatch(document, [operation])
  } catch (error) {
    return [error instanceof Error ? error : new Error("malformed pointer")]
  }
}

const isMissing = (document: JsonObject, path: string): boolean => {
  const keys = path.split("/").slice(1).map(unescape)
  return (
    keys.reduce<unknown>((value, key) => (isObject(value) && has(value, key) ? value[key] : undefined), document) ===
    undefined
  )
}

const unescape = (segment: string): string => segment.replaceAll("~1", "/").replaceAll("~0", "~")
