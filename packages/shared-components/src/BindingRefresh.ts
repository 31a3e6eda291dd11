/**
 * Renders a slice's binding again when somebody asks for it: with the template that its provider has now, and what the slice's backend
 * knows now, such as the instance's Secret as it is.
 *
 * **Guarantees**
 * - S21: a binding changes only when it is asked for, by the generation of the provider; credentials, script and place stay.
 * - S12: the kept binding is changed first, and the copy follows it.
 *
 * @since 0.1.0
 */
import type { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import * as BindingCopy from "./BindingCopy.ts"
import * as Capsules from "./Capsules.ts"
import * as backends from "./internal/slices/backends.ts"
import * as orders from "./internal/slices/orders.ts"
import * as sources from "./internal/slices/sources.ts"
import { Settings } from "./Settings.ts"
import { Slice } from "./Slice.ts"
import type * as SliceRecord from "./SliceRecord.ts"
import * as SliceSecrets from "./SliceSecrets.ts"

/**
 * The annotation on a Slice that asks for it: its value is the generation of the provider.
 *
 * @category constants
 * @since 0.1.0
 */
export const annotation = "berth.dev/refresh-binding"

const name = Identifier.of("berth.dev/refresh-binding")

/**
 * Does what the annotation asks for, and takes it off; nothing without it.
 *
 * **Errors**: those of `SliceTree.Reasons`, `Capsules` and the backend, and what a failed request means.
 *
 * @category operations
 * @since 0.1.0
 */
export const run = Effect.fn("BindingRefresh.run")(function* (
  record: SliceRecord.SliceRecord,
  kept: SliceSecrets.Kept
): Effect.fn.Return<void, Disposition.ProvisionError, Client | Settings> {
  const { metadata, spec } = yield* record.current
  const asked = metadata.annotations[annotation]
  if (asked === undefined || spec.capsule === undefined) return
  const { managementNamespace } = yield* Settings
  // Whoever asked for the wrong thing corrects the annotation.
  yield* Manager.input(Slice, { name: metadata.name, namespace: managementNamespace })
  const now = yield* sources.revision(spec.capsule, { name, value: asked })
  const revised = {
    ...spec.capsule,
    // Where a backend is, may have changed as well; what it is asked for has not.
    ...(now.backend === undefined ? {} : { backend: now.backend }),
    binding: now.binding,
    bindingGeneration: now.provider.generation
  }
  const backend = yield* backends.ofCapsule(revised)
  const offer = yield* backend.offer({ record, capsule: revised, kept: Option.some(kept) })
  const binding = yield* Capsules.binding(revised, spec.sliceId, offer)
  const slice = yield* record.current
  const { generatedSecret } = kept
  yield* SliceSecrets.replace(orders.ownerOf(slice), managementNamespace, { binding, generatedSecret })
  yield* BindingCopy.write(orders.targetOf(slice), binding)
  // Last, so that whoever is told finds the new one.
  yield* record.writeSpec({ capsule: revised }, { [annotation]: null })
})
