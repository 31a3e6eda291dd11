/**
 * What happened to one object.
 *
 * @since 0.1.0
 */
import type { KubeObject } from "./KubeObject.ts"

/**
 * One object appeared, changed or went away.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change<out O extends KubeObject> {
  readonly _tag: "Added" | "Modified" | "Deleted"
  /** As it is now; for Deleted, the last state that is known. */
  readonly object: O
  /** As it was before; only for Modified. */
  readonly previous: O | undefined
  /** It was there already: found by the first list, or told to a subscriber that came later. */
  readonly initial: boolean
}
