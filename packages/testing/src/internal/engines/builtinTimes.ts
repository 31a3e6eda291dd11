/**
 * Where objects of built-in kinds have times in microseconds, which are read in one form only.
 *
 * @since 0.1.0
 */
import { at, isString } from "./json.ts"

const PATHS: { readonly [kind: string]: ReadonlyArray<ReadonlyArray<string>> } = {
  "Lease.coordination.k8s.io": [
    ["spec", "acquireTime"],
    ["spec", "renewTime"]
  ],
  Event: [["eventTime"], ["series", "lastObservedTime"]],
  "Event.events.k8s.io": [["eventTime"], ["series", "lastObservedTime"]]
}

const FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)$/u

/** The first time that cannot be read; undefined where all can. */
export const wrongTime = (kind: string, object: unknown): string | undefined =>
  (PATHS[kind] ?? [])
    .map((path) => at(object, ...path))
    .filter(isString)
    .find((time) => !FORM.test(time))
