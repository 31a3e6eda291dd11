/**
 * Who manages which field of an object.
 */
import { update } from "../engines/managedFields.ts"
import type { Api } from "./api.ts"
import { at, list, text, timestamp, withMeta, type Obj } from "./json.ts"
import { blankOf, schemaOf } from "./kindSchema.ts"
import type { Target } from "./request.ts"
import type { Resource } from "./resource.ts"
import { apiVersionOf, toServed } from "./served.ts"

/** What managedFields are worked out from, besides the objects. @internal */
export const writerOf = (api: Api, { resource, subresource }: Target, manager: string) => ({
  manager,
  apiVersion: apiVersionOf(resource),
  schema: schemaOf(resource),
  subresource,
  now: timestamp(api.time.nowMs()),
  resetFields: resource.status ? (subresource === "status" ? ["spec"] : ["status"]) : []
})

/** Whether the object has fields that a version does not know in which somebody else wrote: nobody manages it any more then. */
const isBeyond = ({ registry }: Api, { group, plural, version }: Resource, served: Obj, old: Obj): boolean =>
  list(old.metadata["managedFields"]).some((entry) => {
    const [, other = ""] = text(at(entry, "apiVersion")).split("/")
    const resource = other === version ? undefined : registry.find(group, other, plural)
    return (
      resource?.custom !== undefined &&
      resource.custom.unknown({ ...served, apiVersion: apiVersionOf(resource) }).length > 0
    )
  })

/** The object, as its version shows it, with its managers after an update by one of them. @internal */
export const managed = (api: Api, target: Target, served: Obj, old: Obj | undefined, manager: string): Obj => {
  if (old !== undefined && isBeyond(api, target.resource, served, old)) {
    return withMeta(served, { managedFields: undefined })
  }
  const live = old === undefined ? blankOf(target.resource) : toServed(target.resource, old)
  const tracked = update({ ...writerOf(api, target, manager), live, updated: served })
  return withMeta(served, { managedFields: at(tracked, "metadata", "managedFields") })
}
