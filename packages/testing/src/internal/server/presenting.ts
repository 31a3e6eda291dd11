/**
 * Gives objects and lists in the form that a request asks for.
 */
import { json, type Answer } from "./answer.ts"
import type { Api } from "./api.ts"
import { badRequest, causes, otherForm } from "./apiError.ts"
import { jsonOf, withMeta, type Fields, type Meta, type Obj } from "./json.ts"
import type { Page } from "./listing.ts"
import { formOf } from "./negotiation.ts"
import type { ApiRequest, Target } from "./request.ts"
import type { Resource } from "./resource.ts"
import { apiVersionOf, toServed } from "./served.ts"
import { metadataOnly, tableOf, type IncludeObject } from "./tables.ts"

const includeOf = (request: ApiRequest): IncludeObject => {
  const asked = request.query.get("includeObject") ?? ""
  if (asked === "") return "Metadata"
  if (asked === "None" || asked === "Object" || asked === "Metadata") return asked
  const { field, message } = causes.invalid("includeObject", asked, "must be 'Metadata', 'Object', 'None', or empty")
  throw badRequest(`Unable to convert to Table as requested: ${field}: ${message}`)
}

/** @internal */
export const warningsOf = (resource: Resource): ReadonlyArray<string> =>
  resource.deprecationWarning === undefined ? [] : [resource.deprecationWarning]

/** One object, which is in the form of its version already. @internal */
export const one = (
  api: Api,
  { resource }: Target,
  request: ApiRequest,
  served: Obj,
  options: { readonly status?: number; readonly warnings?: ReadonlyArray<string> } = {}
): Answer => {
  const { as, form, version } = formOf(request.accept, ["plain", "table", "metadata"])
  if (as === "PartialObjectMetadataList") throw otherForm(as, `not a list (*core.${resource.kind})`)
  const told = { ...options, warnings: [...warningsOf(resource), ...(options.warnings ?? [])] }
  if (form === "metadata") return json(metadataOnly(served, version), told)
  if (form === "plain") return json(served, told)
  const { resourceVersion } = served.metadata
  const table = { version, include: includeOf(request), head: true }
  return json(tableOf(resource, [served], { resourceVersion }, api.time.nowMs(), table), told)
}

const listMeta = ({ continueToken, remaining, resourceVersion }: Page): Fields => ({
  resourceVersion,
  ...(continueToken === undefined ? {} : { continue: continueToken }),
  ...(remaining === undefined ? {} : { remainingItemCount: remaining })
})

/** Built-in kinds leave the type out of the objects of a list. */
const itemText = (resource: Resource, stored: Obj): string => {
  const text = jsonOf(toServed(resource, stored))
  if (resource.custom !== undefined) return text
  const { apiVersion: _, kind: __, ...bare } = toServed(resource, stored)
  return JSON.stringify(bare)
}

/** @internal */
export const many = (api: Api, { resource }: Target, request: ApiRequest, page: Page): Answer => {
  const { as, form, version } = formOf(request.accept, ["plain", "table", "metadata"])
  if (as === "PartialObjectMetadata") throw otherForm(as, `a list (*core.${resource.kind}List)`)
  const warnings = warningsOf(resource)
  const metadata = listMeta(page)
  if (form === "table") {
    const items = page.items.map((item) => toServed(resource, item))
    const table = { version, include: includeOf(request), head: true }
    return json(tableOf(resource, items, metadata, api.time.nowMs(), table), { warnings })
  }
  if (form === "metadata") {
    const items = page.items.map((item) => metadataOnly(item, version))
    const head = { kind: "PartialObjectMetadataList", apiVersion: `meta.k8s.io/${version}` }
    return json({ ...head, metadata, items }, { warnings })
  }
  // Lists of custom kinds have an empty token where the others have none.
  const whole = resource.custom === undefined ? metadata : { continue: "", ...metadata }
  const head = JSON.stringify({ kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata: whole })
  const items = page.items.map((item) => itemText(resource, item)).join(",")
  return {
    _tag: "Json",
    status: 200,
    contentType: "application/json",
    body: `${head.slice(0, -1)},"items":[${items}]}`,
    warnings
  }
}

/** How a watch shows an object; the columns of a table come with the first one only. @internal */
export const shower = (api: Api, { resource }: Target, request: ApiRequest): ((object: Obj) => Fields) => {
  const { form, version } = formOf(request.accept, ["plain", "table", "metadata"])
  if (form === "plain") return (object) => toServed(resource, object)
  if (form === "metadata") return (object) => metadataOnly(object, version)
  const include = includeOf(request)
  let head = true
  return (object) => {
    const { resourceVersion } = object.metadata
    const options = { version, include, head }
    head = false
    return tableOf(resource, [toServed(resource, object)], { resourceVersion }, api.time.nowMs(), options)
  }
}

/** An object whose metadata is that of another, such as a Scale. @internal */
export const borrowedMeta = ({ metadata }: Obj): Meta =>
  withMeta(
    { apiVersion: "", kind: "", metadata },
    {
      labels: undefined,
      annotations: undefined,
      finalizers: undefined,
      ownerReferences: undefined,
      generation: undefined,
      managedFields: undefined
    }
  ).metadata
