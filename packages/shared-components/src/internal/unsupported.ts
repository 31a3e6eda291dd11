/** Fields that the API server accepts and that this version of the operator does not serve. None of them is silently ignored. */
import * as Capsules from "../Capsules.ts"
import type { SharedComponent } from "../SharedComponent.ts"
import type { SharedComponentProvider } from "../SharedComponentProvider.ts"
import type { Problem } from "./problem.ts"

const unsupported = (where: string, sentence: string): Problem => ({ reason: "Unsupported", where, sentence })

const remove = "this version of the operator does not serve it: remove it"

export const ofSharedComponent = ({ idle }: SharedComponent["spec"]): ReadonlyArray<Problem> =>
  idle.action === "Suspend"
    ? [unsupported("spec.idle.action", "this version of the operator suspends nothing: use Keep")]
    : []

const ofBackend = (
  spec: SharedComponentProvider["spec"],
  backends: ReadonlyMap<string, unknown>
): ReadonlyArray<Problem> => {
  const backend = Capsules.backendOf(spec)
  if (backend === undefined || backends.has(backend.name)) return []
  return [unsupported(`spec.${spec.custom === undefined ? "databaseProvider" : "custom.backend"}`, remove)]
}

/** A backend that is not among these is one of another program. */
export const ofProvider = (
  spec: SharedComponentProvider["spec"],
  backends: ReadonlyMap<string, unknown>
): ReadonlyArray<Problem> => [
  ...(["check", "list", "rotate"] as const).flatMap((field) =>
    spec[field] === undefined ? [] : [unsupported(`spec.${field}`, remove)]
  ),
  ...ofBackend(spec, backends),
  ...(spec.outputs.length === 0 ? [] : [unsupported("spec.outputs", remove)])
]
