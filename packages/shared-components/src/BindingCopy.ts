/**
 * The binding Secret in the environment's namespace: a copy of the kept binding, for components to use.
 *
 * **Guarantees**
 * - S12: it is only written. Whatever is changed or deleted there is put back, and nothing is ever read from it.
 * - S30: it is a servicebinding.io Secret where the binding has a `type`.
 * - A copy that is as it should be is not written.
 *
 * @since 0.1.0
 */
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Option } from "effect"
import * as exactSecret from "./internal/exactSecret.ts"
import * as manifest from "./internal/slices/jobManifest.ts"
import * as Names from "./Names.ts"
import { environmentUidLabel, type Consumer } from "./Records.ts"
import * as ScriptJob from "./ScriptJob.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Whose copy.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target {
  readonly consumer: Consumer
  readonly sliceId: string
  /** Of the record. */
  readonly uid: string
}

/**
 * Makes the copy be what the binding is.
 *
 * @category operations
 * @since 0.1.0
 */
export const write = (
  target: Target,
  binding: Readonly<Record<string, string>>
): Effect.Effect<void, ProvisionError, Client> =>
  exactSecret.write({
    ...refOf(target),
    labels: { [ScriptJob.sliceIdLabel]: target.sliceId, [environmentUidLabel]: target.consumer.uid },
    annotations: { [manifest.annotations.slice]: target.uid },
    type: binding["type"] === undefined ? "Opaque" : `servicebinding.io/${binding["type"]}`,
    values: binding
  })

/**
 * Takes the copy away, if it is this slice's.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = Effect.fn("BindingCopy.remove")(function* (
  target: Target
): Effect.fn.Return<void, ProvisionError, Client> {
  const client = yield* Client
  const found = yield* KubeFailure.orNone(client.get(Builtin.Secret, refOf(target)))
  if (Option.isNone(found) || found.value.metadata.annotations?.[manifest.annotations.slice] !== target.uid) return
  const preconditions = { uid: found.value.metadata.uid }
  yield* KubeFailure.orNone(client.delete(Builtin.Secret, refOf(target), { preconditions }))
})

const refOf = ({ consumer }: Target) => ({ name: Names.binding(consumer.component), namespace: consumer.namespace })
