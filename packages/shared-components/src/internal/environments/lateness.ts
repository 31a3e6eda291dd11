/** Which components have taken longer than their template allows (S26). */
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import type * as Progress from "@berth/provisioners/Progress"
import { Duration, Option } from "effect"
import type { Environment } from "../../Environment.ts"
import type { EnvironmentTemplate } from "../../EnvironmentTemplate.ts"
import { Reasons } from "./reasons.ts"

/** Who waits for a place, or is told to wait, takes no time that counts: it does not fail (S2). */
export const waitingReasons = new Set([
  "registering",
  "waiting_for_place",
  "shared_component_not_ready",
  "slice_paused",
  "suspended",
  "previous_slice"
])

type Spec = Pick<EnvironmentTemplate["spec"], "components" | "deployTimeout">
type Clock = Pick<Progress.Entry, "failure" | "phase" | "sinceMs" | "waitingSinceMs">

/**
 * Since when a component is being deployed. A slice is from when it has a place; anything else from when what it needs is ready.
 */
const sinceMs = ({ failure, phase, sinceMs: atMs, waitingSinceMs }: Clock, isSlice: boolean): number | undefined => {
  if (phase !== "provision" || failure === undefined || waitingReasons.has(failure.reason)) return undefined
  return isSlice ? atMs : waitingSinceMs
}

export const isLate = (
  { components, deployTimeout }: Spec,
  component: string,
  entry: Clock | undefined,
  nowMs: number
): boolean => {
  const declared = components.find(({ name }) => name === component)
  const since = entry && sinceMs(entry, declared?.sharedComponentRef !== undefined)
  return since !== undefined && nowMs - since >= Duration.toMillis(deployTimeout)
}

/** The clocks of the pass before, of this generation. */
export const clocks = ({ metadata, status }: Environment, path: string): ReadonlyMap<string, Progress.Entry> => {
  const { generation, progress = [] } = status?.provisioning ?? {}
  if (generation !== metadata.generation) return new Map()
  return new Map(
    progress
      .filter((entry) => entry.path.startsWith(path))
      .map((entry) => [entry.path.slice(path.length), entry] as const)
  )
}

const unknown = Identifier.of("unknown")

/** What a deployment failed with, led by the component that has taken too long. It goes on being tried. */
export const failure = (
  { deployTimeout }: Spec,
  late: readonly [component: Identifier.Identifier, why: Disposition.ProvisionError] | undefined,
  whole: Disposition.ProvisionError
): Disposition.ProvisionError => {
  if (late === undefined) return whole
  const [component, { cause, message, reason, why }] = late
  const named = Option.getOrElse(Identifier.fromString(reason), () => unknown)
  const details = { why: [message, why].filter((text) => text !== undefined).join(" "), cause }
  return Disposition.join([Reasons.deploy_timeout({ component, limit: deployTimeout, reason: named }, details), whole])
}
