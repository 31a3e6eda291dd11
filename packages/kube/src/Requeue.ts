/**
 * When a key that was reconciled without a failure is reconciled again by itself.
 *
 * @since 0.1.0
 */
import { Duration } from "effect"

/**
 * @category models
 * @since 0.1.0
 */
export type Requeue = { readonly _tag: "None" } | { readonly _tag: "After"; readonly after: Duration.Duration }

/**
 * Not before something changes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const none: Requeue = { _tag: "None" }

/**
 * After this time, or earlier if something changes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const after = (delay: Duration.Input): Requeue => ({ _tag: "After", after: Duration.fromInputUnsafe(delay) })
