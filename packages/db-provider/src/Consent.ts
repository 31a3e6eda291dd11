/**
 * Whether somebody wants a tenant gone. That its record is being deleted does not say so: a `kubectl delete`, a prune or the end of a
 * namespace may mean anything.
 *
 * **Guarantees**
 * - D14: a record is let go for the API's DELETE, or for an annotation that repeats the record's own UID, and for nothing else. One that
 *   is being deleted without either is held.
 *
 * @since 0.1.0
 */
import type { Database } from "./Database.ts"

/**
 * The finalizer of records and of their credentials.
 *
 * @category constants
 * @since 0.1.0
 */
export const finalizer = "db.berth.dev/database"

/**
 * The annotation by which an administrator lets a held tenant go; its value has to be the record's UID, so that it is not copied along
 * with a manifest, and means this very record.
 *
 * @category constants
 * @since 0.1.0
 */
export const releaseAnnotation = "db.berth.dev/release"

/**
 * Who agreed that the tenant goes.
 *
 * @category getters
 * @since 0.1.0
 */
export const of = ({ metadata, spec }: Database): "consumer" | "administrator" | "nobody" => {
  if (spec.deleteRequestedAt !== undefined) return "consumer"
  return metadata.annotations[releaseAnnotation] === metadata.uid ? "administrator" : "nobody"
}

/**
 * Whether the record is only there for its finalizer, and its tenant is served on.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isHeld = (record: Database): boolean =>
  record.metadata.deletionTimestamp !== undefined && of(record) === "nobody"

/**
 * Whether its tenant is to go: its consumer asked for that, or it is being deleted and an administrator agreed.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isGiven = (record: Database): boolean => {
  const by = of(record)
  return by === "consumer" || (by === "administrator" && record.metadata.deletionTimestamp !== undefined)
}
