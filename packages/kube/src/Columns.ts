/**
 * Columns of `kubectl get` that kinds with conditions share.
 *
 * @since 0.1.0
 */

/**
 * When the object was made; it stands last, as for the built-in kinds.
 *
 * @category columns
 * @since 0.1.0
 */
export const age = { name: "Age", path: ".metadata.creationTimestamp", type: "date" } as const

/**
 * Whether the object is ready.
 *
 * @category columns
 * @since 0.1.0
 */
export const ready = { name: "Ready", path: ".status.conditions[?(@.type=='Ready')].status" } as const

/**
 * Why it is not, shown by `kubectl get -o wide`.
 *
 * @category columns
 * @since 0.1.0
 */
export const reason = {
  name: "Reason",
  path: ".status.conditions[?(@.type=='Ready')].reason",
  priority: 1
} as const
