/** What a slice's scripts are started with, and whose they are. */
import type { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import * as BindingCopy from "../../BindingCopy.ts"
import * as Capsules from "../../Capsules.ts"
import * as Instance from "../../Instance.ts"
import { consumerOf } from "../../Records.ts"
import type * as ScriptJob from "../../ScriptJob.ts"
import type { Settings } from "../../Settings.ts"
import type { Slice } from "../../Slice.ts"
import type { SliceRecord } from "../../SliceRecord.ts"
import * as SliceSecrets from "../../SliceSecrets.ts"

type ProvisionError = Disposition.ProvisionError

export const ownerOf = ({ metadata, spec }: Slice): SliceSecrets.Owner => ({
  sliceId: spec.sliceId,
  uid: metadata.uid
})

export const targetOf = (slice: Slice): BindingCopy.Target => ({ ...ownerOf(slice), consumer: consumerOf(slice) })

/** Those of the kept binding, where an earlier record of this slice left one; else those that were made before, or new ones. */
export const credentialsOf = (
  owner: SliceSecrets.Owner,
  capsule: Capsules.ScriptCapsule,
  kept: Option.Option<SliceSecrets.Kept>
) =>
  Option.match(kept, {
    onNone: () => SliceSecrets.ensureCredentials(owner, capsule.sharedNamespace),
    onSome: ({ generatedSecret }) => SliceSecrets.restoreCredentials(owner, capsule.sharedNamespace, generatedSecret)
  })

/** The record's capsule and the instance that it names. */
export const prepared = Effect.fnUntraced(function* (
  record: SliceRecord,
  read: (reference: Instance.Reference) => Effect.Effect<Instance.Values, ProvisionError, Client | Settings>
) {
  const slice = yield* record.current
  const { capsule } = slice.spec
  if (capsule === undefined || !Capsules.hasScripts(capsule)) {
    return yield* Effect.die(new Error("a slice without scripts in its capsule"))
  }
  const instance = yield* read({ secret: capsule.instance.secretRef.name, namespace: capsule.sharedNamespace })
  return { slice, capsule, instance }
})

export const make = Effect.fnUntraced(function* (parts: {
  readonly action: ScriptJob.Action
  readonly capsule: Capsules.ScriptCapsule
  readonly slice: Slice
  readonly instance: Instance.Values
  readonly credentials: SliceSecrets.Credentials
}): Effect.fn.Return<ScriptJob.Order> {
  const { action, capsule, credentials, instance, slice } = parts
  const { generatedSecret, uid } = credentials
  const retry = slice.metadata.annotations[Manager.retryAnnotation]
  return {
    ...ownerOf(slice),
    sliceUid: slice.metadata.uid,
    action,
    script: capsule[action],
    provider: capsule.provider.name,
    namespace: capsule.sharedNamespace,
    context: Capsules.context(capsule, slice.spec.sliceId, instance, generatedSecret),
    secrets: [generatedSecret, ...Object.values(instance)],
    inputHash: yield* Capsules.inputHash(slice, action, action === "provision" ? uid : ""),
    ...(retry === undefined ? {} : { retry: retry.slice(0, 253) })
  }
})
