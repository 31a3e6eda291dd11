/** Which slices were made from something else than what their provider and shared component say now. */
import type * as Conditions from "@berth/kube/Conditions"
import { Effect, Result } from "effect"
import * as Capsules from "../../Capsules.ts"
import * as Parameters from "../../Parameters.ts"
import type { RawSlice } from "../../Records.ts"
import type { SharedComponent } from "../../SharedComponent.ts"
import { SharedComponentProvider } from "../../SharedComponentProvider.ts"
import { canonical } from "../canonical.ts"
import * as instanceSource from "../instanceSource.ts"
import * as problem from "../problem.ts"

type Part = "binding" | "scripts" | "parameters" | "instance" | "backend"

/** As it is now, written as a capsule is written. */
const present = Effect.fnUntraced(function* (shared: SharedComponent, provider: SharedComponentProvider) {
  const encoded = yield* Effect.orDie(SharedComponentProvider.encodeSpec(provider.spec))
  const { binding, deprovision, provision } = encoded
  const parameters = Result.getOrElse(
    Parameters.check(provider.spec.parameters, shared.spec.parameters),
    () => shared.spec.parameters
  )
  return new Map<Part, string>([
    ["binding", canonical(binding)],
    ["scripts", canonical([provision, deprovision])],
    ["parameters", canonical(parameters)],
    ["instance", canonical(instanceSource.of(provider.spec, shared.metadata) ?? {})],
    ["backend", canonical(Capsules.backendOf(provider.spec))]
  ])
})

const partsOf = (slice: RawSlice): ReadonlyArray<readonly [Part, string]> => {
  const { capsule } = slice.spec
  if (capsule === undefined) return []
  return [
    ["binding", canonical(capsule.binding)],
    ["scripts", canonical([capsule.provision, capsule.deprovision])],
    ["parameters", canonical(capsule.parameters ?? {})],
    ["instance", canonical(capsule.instance ?? {})],
    ["backend", canonical(capsule.backend)]
  ]
}

/** The condition of the shared component that names them (S21). */
export const condition = Effect.fnUntraced(function* (
  shared: SharedComponent,
  provider: SharedComponentProvider,
  slices: ReadonlyArray<RawSlice>
): Effect.fn.Return<Conditions.Input> {
  const now = yield* present(shared, provider)
  const behind = slices.flatMap((slice) => {
    const parts = partsOf(slice).flatMap(([part, text]) => (text === now.get(part) ? [] : [part]))
    return parts.length === 0 ? [] : [`${slice.metadata.name} (${parts.join(", ")})`]
  })
  return behind.length === 0
    ? {
        type: "SlicesCurrent",
        status: "True",
        reason: "Current",
        message: "Every slice is as the provider and the shared component say."
      }
    : {
        type: "SlicesCurrent",
        status: "False",
        reason: "Behind",
        message: `Slices that were made from something else, and stay so: ${problem.listed(behind.toSorted())}. The provider is at generation ${provider.metadata.generation}.`
      }
})
