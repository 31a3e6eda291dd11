/** The shared component and the provider that a slice is made from, as the API server has them now. */
import type { Client } from "@berth/kube/Client"
import * as Disposition from "@berth/provisioners/Disposition"
import type * as Identifier from "@berth/provisioners/Identifier"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option, Result } from "effect"
import * as Capsules from "../../Capsules.ts"
import { sharedComponentOf } from "../../Records.ts"
import { Settings } from "../../Settings.ts"
import { SharedComponent } from "../../SharedComponent.ts"
import { SharedComponentProvider } from "../../SharedComponentProvider.ts"
import type { Capsule, Slice } from "../../Slice.ts"
import { Reasons } from "./reasons.ts"

type ProvisionError = Disposition.ProvisionError
type Found<A> = Effect.Effect<A, ProvisionError, Client | Settings>

const readable = <A>(object: Identifier.Identifier, part: Effect.Effect<A, { readonly message: string }>) =>
  Effect.mapError(part, (error) => Reasons.unreadable({ object }, { why: error.message, cause: error }))

/** Inputs, so that a slice that waits for a person goes on when parameters or the provider are mended. */
export const sharedComponent = Effect.fnUntraced(function* (
  slice: Slice
): Effect.fn.Return<SharedComponent, ProvisionError, Client | Settings> {
  const { managementNamespace: namespace } = yield* Settings
  const { name, uid } = sharedComponentOf(slice)
  const found = yield* Manager.input(SharedComponent, { name, namespace })
  if (Option.isNone(found) || found.value.metadata.uid !== uid) {
    return yield* Reasons.missing_shared_component({ shared: name })
  }
  return yield* readable(name, SharedComponent.decode(found.value))
})

export const provider = (name: Identifier.Identifier): Found<Option.Option<SharedComponentProvider>> =>
  Effect.gen(function* () {
    const { managementNamespace: namespace } = yield* Settings
    const found = yield* Manager.input(SharedComponentProvider, { name, namespace })
    if (Option.isNone(found)) return Option.none()
    return Option.some(yield* readable(name, SharedComponentProvider.decode(found.value)))
  })

export const presentProvider = (
  name: Identifier.Identifier,
  shared: Identifier.Identifier
): Found<SharedComponentProvider> =>
  Effect.flatMap(
    provider(name),
    Option.match({
      onNone: () => Effect.fail(Reasons.missing_provider({ provider: name, shared })),
      onSome: Effect.succeed
    })
  )

/** The capsule as the provider says it now, if what somebody asked for by an annotation is its generation. */
export const revision = Effect.fnUntraced(function* (
  capsule: Capsule,
  asked: { readonly name: Identifier.Identifier; readonly value: string }
): Effect.fn.Return<Capsule, ProvisionError, Client | Settings> {
  const { name } = capsule.provider
  const about = { annotation: asked.name, provider: name }
  const found = Option.map(yield* provider(name), (present) => Capsules.revised(capsule, present))
  if (Option.isNone(found) || Result.isFailure(found.value)) return yield* Reasons.refresh_impossible(about)
  const { generation } = found.value.success.provider
  return asked.value === String(generation)
    ? found.value.success
    : yield* Reasons.refresh_refused({ ...about, generation })
})
