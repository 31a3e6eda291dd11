/** A condition beside those of the manager, with a writer of its own. */
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { KubeObject } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { DateTime, Effect, Schema } from "effect"

export interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: ReadonlyArray<typeof Conditions.Condition.Encoded> }
}

/** The decoded object, as far as it matters here. */
export interface Subject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly generation: number
  }
  readonly status?: { readonly conditions: ReadonlyArray<Conditions.Condition> }
}

const encode = Schema.encodeEffect(Conditions.Condition)

/** Applied by a field manager that has no other condition; nothing is sent where the object says the same already. */
export const publish = Effect.fnUntraced(function* (
  type: ResourceType<Conditioned>,
  { metadata, status }: Subject,
  input: Conditions.Input,
  fieldManager: string
): Effect.fn.Return<void, Disposition.ProvisionError, Client> {
  const { generation, name, namespace, uid } = metadata
  const before = status?.conditions ?? []
  const after = Conditions.set(before, input, { generation, now: yield* DateTime.now })
  const condition = Conditions.get(after, input.type)
  if (after === before || condition === undefined) return
  const encoded = yield* Effect.orDie(encode(condition))
  const client = yield* Client
  const draft = { metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid } }
  yield* KubeFailure.classified(
    client.apply(
      type,
      { ...draft, status: { conditions: [encoded] } },
      { subresource: "status", fieldManager, force: true }
    )
  )
})
