/** The caches that managers make of kinds that are not theirs: one of each kind, for all managers of a program. */
import * as Cache from "@berth/kube/Cache"
import type * as ResourceType from "@berth/kube/ResourceType"

/** A cache that the program has anyway, or a kind. */
export type Source = Cache.AnyDefinition | ResourceType.ResourceType

/** For a kind always the same definition, and so one watch. */
export const make = (options: {
  readonly metadataOnly: true
  readonly labelSelector?: string
}): ((source: Source) => Cache.AnyDefinition) => {
  const definitions = new WeakMap<ResourceType.ResourceType, Cache.AnyDefinition>()
  return (source) => {
    if ("with" in source) return source
    const definition = definitions.get(source) ?? Cache.define(source, options)
    definitions.set(source, definition)
    return definition
  }
}
