/**
 * Fields that the schema of a kind does not know: refused, warned about or ignored, as the request asks.
 */
import { ApiError, badRequest, causes, invalid } from "./apiError.ts"
import { duplicateFields } from "./duplicateFields.ts"
import { at, text, type Fields } from "./json.ts"
import { withObjectMeta } from "../engines/objectMeta.ts"
import { typedFaults } from "../engines/typedFaults.ts"
import { schemaOf, typeFaultOf, unknownFields } from "./kindSchema.ts"
import type { WriteOptions } from "./request.ts"
import type { Resource } from "./resource.ts"

const faultsOf = (resource: Resource, sent: Fields): ReadonlyArray<string> =>
  unknownFields(resource, sent).map((path) => `unknown field "${path}"`)

/** What cannot even be read as an object of the kind. @internal */
export const checkTypes = (resource: Resource, sent: Fields): void => {
  const { kind, version } = resource
  const fault = typeFaultOf(resource, sent)
  if (fault !== undefined) throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${fault}`)
}

/** `sentText` is the JSON that was sent, where it was JSON. @internal */
export const checkFields = (
  resource: Resource,
  sent: Fields,
  { fieldValidation, warnings }: WriteOptions,
  sentText?: string
): void => {
  if (fieldValidation === "Ignore") return
  const twice = sentText === undefined ? [] : duplicateFields(sentText).map((path) => `duplicate field "${path}"`)
  const faults = [...twice, ...faultsOf(resource, sent)]
  if (faults.length === 0) return
  if (fieldValidation === "Warn") {
    warnings.push(...faults)
    return
  }
  const { kind, version } = resource
  throw badRequest(
    `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${faults.join(", ")}`
  )
}

/** The same about what a patch makes of an object. @internal */
export const checkPatched = (resource: Resource, patched: Fields, options: WriteOptions): void => {
  const fault = typeFaultOf(resource, patched)
  if (fault !== undefined) {
    throw invalid({ group: "", kind: "" }, "", [causes.invalid("patch", JSON.stringify(patched), fault)])
  }
  if (options.fieldValidation !== "Strict") {
    checkFields(resource, patched, options)
    return
  }
  const faults = faultsOf(resource, patched)
  if (faults.length === 0) return
  const why = `strict decoding error: ${faults.join(", ")}`
  throw invalid({ group: "", kind: "" }, "", [causes.invalid("patch", JSON.stringify(patched), why)])
}

/** An apply has to know every field that it sets. @internal */
export const checkApplied = (resource: Resource, applied: Fields): void => {
  const faults = [
    ...unknownFields(resource, applied).map((path) => `.${path}: field not declared in schema`),
    ...typedFaults(applied, withObjectMeta(schemaOf(resource)))
  ]
  if (faults.length === 0) return
  const place = `${text(at(applied, "metadata", "namespace"))}/${text(at(applied, "metadata", "name"))}`
  const apiVersion = text(applied["apiVersion"])
  const type = `${apiVersion.includes("/") ? "" : "/"}${apiVersion}, Kind=${resource.kind}`
  const why = faults.length === 1 ? faults.join("") : `errors:\n${faults.map((fault) => `  ${fault}`).join("\n")}`
  throw new ApiError(500, "", `failed to create typed patch object (${place}; ${type}): ${why}`)
}
