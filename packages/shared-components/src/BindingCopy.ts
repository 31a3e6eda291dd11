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
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Equal, Option } from "effect"
import { orNone } from "./internal/request.ts"
import * as manifest from "./internal/slices/jobManifest.ts"
import * as secretData from "./internal/slices/secretData.ts"
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
export const write = Effect.fn("BindingCopy.write")(function* (
  target: Target,
  binding: Readonly<Record<string, string>>
): Effect.fn.Return<void, ProvisionError, Client> {
  const client = yield* Client
  const wanted = draft(target, binding)
  const found = yield* orNone(client.get(Builtin.Secret, refOf(target)))
  if (Option.isNone(found)) return yield* create(wanted)
  const { metadata } = found.value
  if (isAsWanted(found.value, wanted)) return
  const replaced = {
    ...found.value,
    ...wanted,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...wanted.metadata.labels },
      annotations: { ...metadata.annotations, ...wanted.metadata.annotations }
    }
  }
  const updated = yield* Effect.result(client.update(Builtin.Secret, replaced))
  if (updated._tag === "Success") return
  if (updated.failure._tag !== "Invalid") return yield* Effect.fail(KubeFailure.classify(updated.failure))
  // Somebody made it immutable, or of another type: neither can be changed, so it is made anew.
  yield* orNone(client.delete(Builtin.Secret, refOf(target), { preconditions: { uid: metadata.uid } }))
  return yield* create(wanted)
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
  const found = yield* orNone(client.get(Builtin.Secret, refOf(target)))
  if (Option.isNone(found) || found.value.metadata.annotations?.[manifest.annotations.slice] !== target.uid) return
  const preconditions = { uid: found.value.metadata.uid }
  yield* orNone(client.delete(Builtin.Secret, refOf(target), { preconditions }))
})

const refOf = ({ consumer }: Target) => ({ name: Names.binding(consumer.component), namespace: consumer.namespace })

const draft = (target: Target, binding: Readonly<Record<string, string>>) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    ...refOf(target),
    labels: { [ScriptJob.sliceIdLabel]: target.sliceId, [environmentUidLabel]: target.consumer.uid },
    annotations: { [manifest.annotations.slice]: target.uid }
  },
  type: binding["type"] === undefined ? "Opaque" : `servicebinding.io/${binding["type"]}`,
  data: secretData.encoded(binding)
})

type Draft = ReturnType<typeof draft>

const includes = (all: Readonly<Record<string, string>> = {}, some: Readonly<Record<string, string>>): boolean =>
  Object.entries(some).every(([key, value]) => all[key] === value)

const isAsWanted = ({ data, metadata, type }: Builtin.Secret, wanted: Draft): boolean =>
  type === wanted.type &&
  Equal.equals(data ?? {}, wanted.data) &&
  includes(metadata.labels, wanted.metadata.labels) &&
  includes(metadata.annotations, wanted.metadata.annotations)

const create = (wanted: Draft) =>
  Client.use((client) => client.create(Builtin.Secret, wanted)).pipe(Effect.asVoid, KubeFailure.classified)
