/**
 * What a shared component remembers of its workload, on the object itself, so that it outlives every Secret: written before the chart is
 * deployed for the first time.
 */
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Equal, Option, Schema } from "effect"
import { SharedComponent } from "../SharedComponent.ts"

/** The annotation. Who takes it off has new keys generated where the old ones are lost. */
export const annotation = "berth.dev/workload"

const Record = Schema.Struct({
  /** The keys that were generated, which the workload may have been deployed with. */
  generated: Schema.Array(Schema.String),
  /** The Secret that they are in. */
  secret: Schema.String,
  /** Whether the chart was deployed with the operator's own rights. */
  clusterScoped: Schema.Boolean
})

export interface Record extends Schema.Schema.Type<typeof Record> {}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Record))

export const of = ({ metadata }: Pick<SharedComponent, "metadata">): Record | undefined =>
  Option.getOrUndefined(decode(metadata.annotations[annotation]))

export const write = Effect.fnUntraced(function* (
  shared: SharedComponent,
  wanted: Record
): Effect.fn.Return<void, Disposition.ProvisionError, Client> {
  if (Equal.equals(of(shared), wanted)) return
  const { name, namespace, uid } = shared.metadata
  const patch = { metadata: { uid, annotations: { [annotation]: JSON.stringify(wanted) } } }
  yield* KubeFailure.orNone(
    Client.use((client) => client.patch(SharedComponent, { name, namespace }, { type: "merge", patch }))
  )
})
