/** What a pass tells people by an Event: that the reason of the object's state is another one now. */
import * as Conditions from "@berth/kube/Conditions"
import * as Events from "@berth/kube/Events"
import { Effect } from "effect"
import type * as Disposition from "../Disposition.ts"
import type { Phase } from "../Progress.ts"
import * as Status from "./status.ts"

/** A failure heals by itself, as a rule: the second in a row is worth a line. */
const attemptsMin = 2

/** What may be told of a pass, beside what was there before it. */
export interface Told {
  readonly phase: Phase
  readonly failure: Disposition.ProvisionError | undefined
  /** Failed passes in a row, with this one and without it. */
  readonly attempts: number
  readonly attemptsBefore: number
}

const isNews = (reasonBefore: string | undefined, { attempts, attemptsBefore, failure }: Told): boolean => {
  if (failure?._tag === "Yield") return false
  const isOther = reasonBefore !== (failure?.reason ?? Status.provisioned.reason)
  if (failure?._tag !== "Transient") return isOther
  return attempts >= attemptsMin && (isOther || attemptsBefore < attemptsMin)
}

/** Reports where the program has a recorder. Whatever comes of it, the pass is what it was. `before` is the object before the write. */
export const record = (before: Status.ManagedObject, told: Told): Effect.Effect<void> => {
  const { failure, phase } = told
  if (!isNews(Conditions.get(before.status?.conditions, "Ready")?.reason, told)) return Effect.void
  const { message, reason } = failure ?? Status.provisioned
  return Events.recordIfAny({
    regarding: before,
    type: failure === undefined ? "Normal" : "Warning",
    reason,
    action: phase === "provision" ? "Provision" : "Deprovision",
    note: message
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("An Event could not be recorded", cause)))
}
