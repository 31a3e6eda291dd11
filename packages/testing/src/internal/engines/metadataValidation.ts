/**
 * Validates the metadata of any object.
 *
 * @since 0.1.0
 */
import { type Cause, forbidden, invalid, required, tooLong } from "./causes.ts"
import { arrayOf, at, equal, has, isObject, isString, type JsonObject, objectOf, stringOf } from "./json.ts"
import { validateLabelKey, validateLabelValue, validateSubdomain } from "./names.ts"

/** The most bytes that all annotations of an object may have. */
const ANNOTATIONS_MAX = 256 * 1024

const STANDARD_FINALIZERS = new Set(["orphan", "foregroundDeletion", "kubernetes"])

export interface MetadataRules {
  /** What an object of the kind may be called; defaults to a DNS subdomain. */
  readonly name?: (name: string) => ReadonlyArray<string>
  /** Whether a finalizer without a domain has to be one of Kubernetes' own; default: false, as for custom kinds. */
  readonly standardFinalizers?: boolean
}

/** What is wrong with an object's metadata; `old` is the stored object of an update. */
export const validateMetadata = (object: unknown, rules: MetadataRules = {}, old?: unknown): ReadonlyArray<Cause> => {
  const metadata = objectOf(at(object, "metadata"))
  const checkName = rules.name ?? validateSubdomain
  return [
    ...validateNames(metadata, checkName),
    ...validateLabels(metadata["labels"], "metadata.labels"),
    ...validateAnnotations(metadata["annotations"]),
    ...validateOwners(metadata["ownerReferences"]),
    ...validateFinalizers(metadata["finalizers"], rules.standardFinalizers ?? false),
    ...(old === undefined ? [] : validateMetadataChange(object, old))
  ]
}

const validateNames = (
  metadata: JsonObject,
  checkName: (name: string) => ReadonlyArray<string>
): ReadonlyArray<Cause> => {
  const name = stringOf(metadata["name"])
  const prefix = stringOf(metadata["generateName"])
  // What the server appends is a suffix of letters: a trailing dash is not the end.
  const wrongPrefix =
    prefix === ""
      ? []
      : checkName(prefix.replace(/-$/u, "a")).map((why) => invalid("metadata.generateName", prefix, why))
  if (name === "") return [...wrongPrefix, required("metadata.name", "name or generateName is required")]
  return [...wrongPrefix, ...checkName(name).map((why) => invalid("metadata.name", name, why))]
}

/** What is wrong with labels at a path. */
export const validateLabels = (labels: unknown, path: string): ReadonlyArray<Cause> =>
  Object.entries(objectOf(labels)).flatMap(([key, value]) => [
    ...validateLabelKey(key).map((why) => invalid(path, key, why)),
    ...validateLabelValue(stringOf(value)).map((why) => invalid(path, value, why))
  ])

const validateAnnotations = (annotations: unknown): ReadonlyArray<Cause> => {
  const entries = Object.entries(objectOf(annotations))
  const causes = entries.flatMap(([key]) =>
    // Capital letters in the prefix are taken for small ones.
    validateLabelKey(key.toLowerCase()).map((why) => invalid("metadata.annotations", key, why))
  )
  const size = entries.reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(stringOf(value)), 0)
  return size > ANNOTATIONS_MAX ? [...causes, tooLong("metadata.annotations", ANNOTATIONS_MAX)] : causes
}

const byteLength = (text: string): number => new TextEncoder().encode(text).length

const validateFinalizers = (finalizers: unknown, standard: boolean): ReadonlyArray<Cause> =>
  arrayOf(finalizers).flatMap((raw, index) => {
    const finalizer = stringOf(raw)
    const wrong = validateLabelKey(finalizer).map((why) => invalid("metadata.finalizers", finalizer, why))
    return !standard || finalizer.includes("/") || STANDARD_FINALIZERS.has(finalizer)
      ? wrong
      : [
          ...wrong,
          invalid(
            `metadata.finalizers[${index}]`,
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified"
          )
        ]
  })

/** What is accepted of a custom object's new finalizers, but better said otherwise. */
export const finalizerWarnings = (object: unknown, old?: unknown): ReadonlyArray<string> => {
  const before = arrayOf(at(old, "metadata", "finalizers"))
  const added = arrayOf(at(object, "metadata", "finalizers"))
    .filter(isString)
    .filter((finalizer) => !before.includes(finalizer))
  return [...new Set(added)]
    .toSorted()
    .filter((finalizer) => !finalizer.includes("/") && !STANDARD_FINALIZERS.has(finalizer))
    .map((finalizer) => {
      const path = finalizer.includes(".") ? " including a path (/)" : ""
      return `metadata.finalizers: ${JSON.stringify(finalizer)}: prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`
    })
}

const validateOwners = (owners: unknown): ReadonlyArray<Cause> => {
  const references = arrayOf(owners).filter(isObject)
  const controllers = references.filter((reference) => reference["controller"] === true)
  const [first, second] = controllers.map(
    (reference) => `${stringOf(reference["kind"])}/${stringOf(reference["name"])}`
  )
  const causes = references.flatMap(validateOwner)
  if (second === undefined) return causes
  const why = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`
  // The real server prints the references as they were sent, in the order of Go's fields.
  return [
    ...causes,
    {
      field: "metadata.ownerReferences",
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(references)}: ${why}`
    }
  ]
}

const validateOwner = (reference: JsonObject): ReadonlyArray<Cause> => {
  const path = "metadata.ownerReferences"
  const apiVersion = stringOf(reference["apiVersion"])
  const isVersion = apiVersion !== "" && apiVersion.split("/").length <= 2
  const causes = isVersion ? [] : [invalid(`${path}.apiVersion`, apiVersion, "version must not be empty")]
  for (const key of ["kind", "name", "uid"]) {
    if (stringOf(reference[key]) === "") causes.push(invalid(`${path}.${key}`, "", "must not be empty"))
  }
  if (apiVersion === "v1" && reference["kind"] === "Event") {
    const why = "/v1, Kind=Event is disallowed from being an owner"
    causes.push({
      field: path,
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(reference)}: ${why}`
    })
  }
  return causes
}

const FIXED = ["name", "namespace", "uid", "creationTimestamp"]
const OWN = ["deletionTimestamp", "deletionGracePeriodSeconds"]

/** What an update changes in the metadata that no update may. */
export const validateMetadataChange = (object: unknown, before: unknown): ReadonlyArray<Cause> => {
  const metadata = objectOf(at(object, "metadata"))
  const old = objectOf(at(before, "metadata"))
  const isChanged = (key: string) => !equal(metadata[key], old[key])
  const causes = [
    ...FIXED.filter((key) => has(old, key) && isChanged(key)),
    ...OWN.filter((key) => has(metadata, key) && isChanged(key))
  ].map((key) => invalid(`metadata.${key}`, metadata[key] ?? "", "field is immutable"))
  const added = arrayOf(metadata["finalizers"])
    .filter(isString)
    .filter((finalizer) => !arrayOf(old["finalizers"]).includes(finalizer))
  return has(old, "deletionTimestamp") && added.length > 0
    ? [
        ...causes,
        forbidden(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(", ")}}`
        )
      ]
    : causes
}
