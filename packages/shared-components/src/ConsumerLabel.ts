/**
 * The labels on an environment's namespace that say which slices it has: an index for people and tools.
 *
 * **Guarantees**
 * - S5: nothing is decided on these labels. One that is missing is put back, one that stands for no slice is taken off.
 *
 * @since 0.1.0
 */
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Option } from "effect"
import * as Names from "./Names.ts"

/**
 * Before the slice id in a label's key; its value is the shared component.
 *
 * @category constants
 * @since 0.1.0
 */
export const prefix = "slice.berth.dev/"

/**
 * The labels that a namespace with these slices has.
 *
 * @category constructors
 * @since 0.1.0
 */
export const labels = (
  slices: ReadonlyArray<{ readonly sliceId: string; readonly sharedComponent: { readonly name: string } }>
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    slices.map(({ sharedComponent, sliceId }) => [prefix + sliceId, Names.labelValue(sharedComponent.name)])
  )

/**
 * Which labels have to be written, and which removed (null), for a namespace to have exactly the wanted ones.
 *
 * @category getters
 * @since 0.1.0
 */
export const difference = (
  present: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>
): Readonly<Record<string, string | null>> => {
  const removed = Object.keys(present).filter((key) => key.startsWith(prefix) && wanted[key] === undefined)
  const written = Object.entries(wanted).filter(([key, value]) => present[key] !== value)
  return Object.fromEntries([...written, ...removed.map((key) => [key, null] as const)])
}

/**
 * Writes labels to a namespace, or removes them where the value is null. A namespace that is gone needs none.
 *
 * @category operations
 * @since 0.1.0
 */
export const write = (
  namespace: string,
  changes: Readonly<Record<string, string | null>>
): Effect.Effect<boolean, Disposition.ProvisionError, Client> =>
  Object.keys(changes).length === 0
    ? Effect.succeed(true)
    : Client.use((client) =>
        client.patch(
          Builtin.Namespace,
          { name: namespace },
          { type: "merge", patch: { metadata: { labels: changes } } }
        )
      ).pipe(KubeFailure.orNone, Effect.map(Option.isSome))
