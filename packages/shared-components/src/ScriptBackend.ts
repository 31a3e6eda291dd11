/**
 * Slices that a provider's scripts make and remove, as Jobs at an instance that they share: the backend that every program has.
 *
 * **Guarantees**
 * - S8: the slice's one generated secret is made before its first script runs, and is the same in every run.
 * - S9: a script that has succeeded for these inputs does not run again.
 * - S11: a teardown reads the instance's Secret as it is now, its backup if it is gone.
 * - The binding is rendered before a script runs: as long as nothing has succeeded, the provider's template can be mended.
 *
 * @since 0.1.0
 */
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { Effect, Option } from "effect"
import * as Capsules from "./Capsules.ts"
import * as Instance from "./Instance.ts"
import * as instanceKeys from "./internal/instanceKeys.ts"
import * as instanceSource from "./internal/instanceSource.ts"
import * as capsules from "./internal/slices/capsules.ts"
import * as orders from "./internal/slices/orders.ts"
import { sharedComponentOf } from "./Records.ts"
import * as ScriptJob from "./ScriptJob.ts"
import { Settings } from "./Settings.ts"
import type { SharedComponent } from "./SharedComponent.ts"
import type { SharedComponentProvider } from "./SharedComponentProvider.ts"
import type { Offer, Services, SliceBackend, Work } from "./SliceBackend.ts"

type Step<A> = Effect.fn.Return<A, Disposition.ProvisionError, Services>

/**
 * The backend.
 *
 * @category constructors
 * @since 0.1.0
 */
export const backend: SliceBackend = {
  check: Effect.fn("ScriptBackend.check")(function* (
    shared: SharedComponent,
    provider: SharedComponentProvider
  ): Step<void> {
    const source = instanceSource.of(provider.spec, shared.metadata)
    if (source === undefined) return yield* Capsules.Reasons.unsupported_backend({ provider: provider.metadata.name })
    const { sharedNamespace } = yield* Settings
    const reference = { secret: source.secretRef.name, namespace: Identifier.Identifier.make(sharedNamespace) }
    const values = yield* Instance.read(reference, instanceKeys.needed(provider.spec))
    yield* Instance.backUp(shared.metadata, reference.secret, values)
  }),

  provision: Effect.fn("ScriptBackend.provision")(function* (work: Work): Step<Offer> {
    const { record } = work
    const { capsule, instance, slice } = yield* orders.prepared(record, Instance.read)
    const credentials = yield* orders.credentialsOf(orders.ownerOf(slice), capsule, work.kept)
    const offer = offerOf(capsule, instance, credentials.generatedSecret)
    yield* Capsules.binding(capsule, slice.spec.sliceId, offer)
    const order = yield* orders.make({ action: "provision", capsule, slice, instance, credentials })
    yield* ScriptJob.run(order, record.journal)
    return offer
  }),

  offer: Effect.fn("ScriptBackend.offer")(function* ({ kept, record }: Work): Step<Offer> {
    const { capsule, instance } = yield* orders.prepared(record, Instance.read)
    return offerOf(capsule, instance, Option.isSome(kept) ? kept.value.generatedSecret : "")
  }),

  settle: Effect.fn("ScriptBackend.settle")(function* ({ capsule, record }: Work): Step<boolean> {
    const entries = yield* record.journal.entries
    if (!ScriptJob.mayHaveRun(entries, "provision")) return false
    const slice = yield* record.current
    const { sharedNamespace: namespace } = capsule
    yield* ScriptJob.stop({ action: "provision", namespace, sliceUid: slice.metadata.uid }, record.journal)
    const inputHash = yield* Capsules.inputHash(slice, "deprovision")
    return !ScriptJob.hasSucceeded(entries, "deprovision", inputHash)
  }),

  deprovision: Effect.fn("ScriptBackend.deprovision")(function* (work: Work): Step<void> {
    const { record } = work
    if (Option.isNone(work.kept)) yield* capsules.beforeTeardown(record, work.capsule)
    const { capsule, instance, slice } = yield* orders.prepared(record, (reference) =>
      Effect.flatMap(record.current, (before) =>
        Instance.readOrBackup(reference, [sharedComponentOf(before), before.spec.sharedComponent])
      )
    )
    // Without a kept binding the slice was never bound: its credentials are still where they were made, or nobody has any.
    const credentials = yield* orders.credentialsOf(orders.ownerOf(slice), capsule, work.kept)
    const order = yield* orders.make({ action: "deprovision", capsule, slice, instance, credentials })
    yield* ScriptJob.run(order, record.journal)
  })
}

const offerOf = (capsule: Capsules.ScriptCapsule, instance: Instance.Values, generatedSecret: string): Offer => ({
  instance,
  host: instance[capsule.instance.hostKey],
  port: instance[capsule.instance.portKey],
  outputs: {},
  keys: {},
  generatedSecret
})
