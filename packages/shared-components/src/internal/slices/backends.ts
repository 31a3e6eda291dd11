/** Which backend a slice, or a provider's slices, belong to. */
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { Effect, Option } from "effect"
import * as Capsules from "../../Capsules.ts"
import * as ScriptBackend from "../../ScriptBackend.ts"
import type { SharedComponentProvider } from "../../SharedComponentProvider.ts"
import { Backends, type SliceBackend } from "../../SliceBackend.ts"
import type { Capsule } from "../../Slice.ts"
import { Reasons } from "./reasons.ts"

/** None where this program does not have it. */
export const find = (backend: Capsule["backend"]): Effect.Effect<Option.Option<SliceBackend>> =>
  backend === undefined
    ? Effect.succeedSome(ScriptBackend.backend)
    : Effect.map(Backends, (all) => Option.fromUndefinedOr(all.get(backend.name)))

const present = Effect.fnUntraced(function* (
  backend: Capsule["backend"]
): Effect.fn.Return<SliceBackend, Disposition.ProvisionError> {
  const found = yield* find(backend)
  if (Option.isSome(found)) return found.value
  const name = Option.getOrElse(Identifier.fromString(backend?.name ?? ""), () => unnamed)
  return yield* Reasons.missing_backend({ backend: name })
})

const unnamed = Identifier.of("unnamed")

export const ofCapsule = (capsule: Capsule) => present(capsule.backend)

export const ofProvider = ({ spec }: SharedComponentProvider) => present(Capsules.backendOf(spec))
