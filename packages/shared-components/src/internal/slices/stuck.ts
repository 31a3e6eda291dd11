/** Which slices wait for somebody, for whoever uses, or wants to be rid of, what they are slices of. */
import * as Conditions from "@berth/kube/Conditions"
import type * as Kind from "@berth/kube/Kind"
import { phaseOf, type RawSlice } from "../../Records.ts"
import type { SharedComponent } from "../../SharedComponent.ts"
import * as StallLabels from "../../StallLabels.ts"
import * as problem from "../problem.ts"

const conditionType = "SlicesHealthy"

const isHolding = (slice: RawSlice): boolean => phaseOf(slice) !== "Waiting" && StallLabels.isOn(slice)

/** It will not go by itself, though nobody uses it any more. */
export const isLeft = (slice: RawSlice): boolean =>
  StallLabels.isOn(slice) && (slice.metadata.deletionTimestamp !== undefined || phaseOf(slice) === "Orphaned")

/** Whether a shared component says so of slices that have a place. */
export const isReported = ({ status }: Kind.Raw<typeof SharedComponent>): boolean =>
  Conditions.get(status?.conditions, conditionType)?.status === "False"

/** The condition of the shared component: its environments may be Ready, or gone, while a slice keeps a place. */
export const condition = (slices: ReadonlyArray<RawSlice>): Conditions.Input => {
  const holding = slices.filter(isHolding).map(({ metadata }) => metadata.name)
  return holding.length === 0
    ? {
        type: conditionType,
        status: "True",
        reason: "Healthy",
        message: "No slice that has a place waits for somebody."
      }
    : {
        type: conditionType,
        status: "False",
        reason: "Stalled",
        message: `Slices that have a place and wait for somebody: ${problem.listed(holding.toSorted())}. See the conditions of each Slice.`
      }
}
