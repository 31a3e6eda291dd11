/** Where the keys of an instance are: in the Secret that a platform team wrote, or in the one that the operator keeps for a workload. */
import * as Identifier from "@berth/provisioners/Identifier"
import * as Names from "../Names.ts"
import type { SharedComponentProvider } from "../SharedComponentProvider.ts"
import type { Capsule } from "../Slice.ts"

type Spec = SharedComponentProvider["spec"]

/** Where a workload's address is among its keys: no provider can name keys like these. */
export const addressKeys = { host: "berth.host", port: "berth.port" } as const

/** None where slices are not made at an instance. */
export const of = (
  { external, instanceSecret, workload }: Pick<Spec, "external" | "instanceSecret" | "workload">,
  shared: Names.Identity
): NonNullable<Capsule["instance"]> | undefined => {
  if (external !== undefined) {
    const { hostKey, portKey, secretRef } = external
    return { secretRef, hostKey, portKey }
  }
  if (workload === undefined) return undefined
  const name = instanceSecret?.name ?? Identifier.Identifier.make(Names.instanceSecret(shared))
  return { secretRef: { name }, hostKey: addressKeys.host, portKey: addressKeys.port }
}
