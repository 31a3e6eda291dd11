/**
 * The annotation in which client-side apply notes what it applied, as server-side apply by `kubectl` takes it over.
 *
 * @since 0.1.0
 */
import { EMPTY, type FieldSet } from "./fieldSet.ts"
import { at, canonical, clone, isObject, isString, type JsonObject, objectOf } from "./json.ts"

const annotation = "kubectl.kubernetes.io/last-applied-configuration"

/** The only manager whose applies heed the annotation. */
export const manager = "kubectl"

const noted = (object: unknown): string | undefined => {
  const text = at(object, "metadata", "annotations", annotation)
  return isString(text) && text !== "" ? text : undefined
}

/** The fields that were applied by the client before, where the annotation is older than the first server-side apply. */
export const allowed = (live: unknown, fieldsOf: (applied: JsonObject) => FieldSet): FieldSet => {
  const text = noted(live)
  if (text === undefined) return EMPTY
  try {
    const applied: unknown = JSON.parse(text)
    return isObject(applied) ? fieldsOf(applied) : EMPTY
  } catch {
    // Not written by a client: it allows nothing.
    return EMPTY
  }
}

/** As Go prints JSON: the members in order, and what means something in HTML by its number. */
const printed = (object: JsonObject): string =>
  `${canonical(object).replaceAll(/[<>&\u2028\u2029]/gu, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`

/** The merged object with an annotation that says what was applied now, where there was one. */
export const updated = (merged: JsonObject, applied: unknown): JsonObject => {
  if (noted(merged) === undefined) return merged
  const bare = clone(objectOf(applied))
  const metadata = objectOf(bare["metadata"])
  delete metadata["managedFields"]
  const annotations = objectOf(metadata["annotations"])
  delete annotations[annotation]
  const result = clone(merged)
  objectOf(objectOf(result["metadata"])["annotations"])[annotation] = printed(bare)
  return result
}
