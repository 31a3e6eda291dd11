/**
 * The scale subresource: the replicas of an object, whatever its kind calls them.
 */
import { causes, invalid, modified, noSuchResource } from "./apiError.ts"
import type { Api } from "./api.ts"
import { at, fields, text, withAt, type Fields, type Obj } from "./json.ts"
import { schemaCauses } from "./kindSchema.ts"
import { borrowedMeta } from "./presenting.ts"
import type { Target, WriteOptions } from "./request.ts"
import { toServed } from "./served.ts"
import { existing, update } from "./updating.ts"

const selectorText = (selector: unknown): string | undefined => {
  if (typeof selector === "string") return selector
  const labels = Object.entries(fields(at(selector, "matchLabels"))).map(([name, value]) => `${name}=${String(value)}`)
  return labels.length === 0 ? undefined : labels.join(",")
}

/** @internal */
export const scaleOf = ({ resource }: Target, stored: Obj): Obj => {
  if (resource.scale === undefined) throw noSuchResource()
  const served = toServed(resource, stored)
  const { selector, specReplicas, statusReplicas } = resource.scale
  const found = selectorText(
    selector === undefined
      ? resource.custom === undefined
        ? at(served, "spec", "selector")
        : undefined
      : at(served, ...selector)
  )
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: borrowedMeta(served),
    spec: { replicas: Number(at(served, ...specReplicas) ?? 0) },
    status: {
      replicas: Number(at(served, ...statusReplicas) ?? 0),
      ...(found === undefined ? {} : { selector: found })
    }
  }
}

/** Writes the replicas of a Scale back into the object. @internal */
export const writeScale = (api: Api, target: Target, sent: Fields, options: WriteOptions): Obj => {
  const { resource } = target
  if (resource.scale === undefined) throw noSuchResource()
  const old = existing(api, target)
  const version = text(at(sent, "metadata", "resourceVersion"))
  if (version !== "" && version !== old.metadata.resourceVersion) throw modified(resource, old.metadata.name)
  const replicas = at(sent, "spec", "replicas") ?? 0
  const path = resource.scale.specReplicas
  const scaled = withAt(toServed(resource, old), path, replicas)
  if (typeof replicas !== "number" || replicas < 0) {
    const fault = causes.invalid(`.${path.join(".")}`, replicas, "should be a non-negative integer")
    throw invalid(resource, old.metadata.name, [...schemaCauses(resource, scaled), fault])
  }
  return scaleOf(target, update(api, target, scaled, options))
}
