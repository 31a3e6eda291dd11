/**
 * The names of what metadata may hold.
 */

/** @internal */
export const metaFields: ReadonlySet<string> = new Set([
  "annotations",
  "creationTimestamp",
  "deletionGracePeriodSeconds",
  "deletionTimestamp",
  "finalizers",
  "generateName",
  "generation",
  "labels",
  "managedFields",
  "name",
  "namespace",
  "ownerReferences",
  "resourceVersion",
  "uid"
])
