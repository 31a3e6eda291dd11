/** A Secret in an environment's namespace that is exactly what it should be, whatever anybody there does to it (S12). */
import * as Builtin from "@berth/kube/Builtin"
import * as SecretData from "@berth/kube/SecretData"
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Equal, Option } from "effect"

type ProvisionError = Disposition.ProvisionError
type Texts = Readonly<Record<string, string>>

export interface ExactSecret {
  readonly name: string
  readonly namespace: string
  readonly type: string
  readonly labels: Texts
  readonly annotations: Texts
  readonly values: Texts
}

/** Only written: what is there is compared, and nothing of it is ever used. One that is as it should be is not written. */
export const write = Effect.fnUntraced(function* (exact: ExactSecret): Effect.fn.Return<void, ProvisionError, Client> {
  const client = yield* Client
  const wanted = draft(exact)
  const ref = { name: exact.name, namespace: exact.namespace }
  const found = yield* KubeFailure.orNone(client.get(Builtin.Secret, ref))
  if (Option.isNone(found)) return yield* create(wanted)
  const { metadata } = found.value
  if (isAsWanted(found.value, wanted)) return
  const replaced = {
    ...found.value,
    ...wanted,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...exact.labels },
      annotations: { ...metadata.annotations, ...exact.annotations }
    }
  }
  const updated = yield* Effect.result(client.update(Builtin.Secret, replaced))
  if (updated._tag === "Success") return
  if (updated.failure._tag !== "Invalid") return yield* KubeFailure.classify(updated.failure)
  // Somebody made it immutable, or of another type: neither can be changed, so it is made anew.
  yield* KubeFailure.orNone(client.delete(Builtin.Secret, ref, { preconditions: { uid: metadata.uid } }))
  return yield* create(wanted)
})

const draft = ({ annotations, labels, name, namespace, type, values }: ExactSecret) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace, labels, annotations },
  type,
  data: SecretData.encode(values)
})

type Draft = ReturnType<typeof draft>

const includes = (all: Texts = {}, some: Texts): boolean =>
  Object.entries(some).every(([key, value]) => all[key] === value)

const isAsWanted = ({ data, metadata, type }: Builtin.Secret, wanted: Draft): boolean =>
  type === wanted.type &&
  Equal.equals(data ?? {}, wanted.data) &&
  includes(metadata.labels, wanted.metadata.labels) &&
  includes(metadata.annotations, wanted.metadata.annotations)

const create = (wanted: Draft) =>
  Client.use((client) => client.create(Builtin.Secret, wanted)).pipe(Effect.asVoid, KubeFailure.classified)
