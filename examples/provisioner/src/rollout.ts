import { type Builtin, Conditions } from "@berth/kube"
import { Identifier } from "@berth/provisioners"
import { Effect } from "effect"
import { Reasons } from "./Reasons.ts"
import type { Region } from "./Site.ts"

/** Fails until as many servers as wanted run the newest version of the Deployment. */
export const isUp = (region: Region) =>
  Effect.fn("isUp")(function* ({ metadata, spec, status }: Builtin.Deployment) {
    const wanted = spec?.replicas ?? 1
    const isCurrent = status?.observedGeneration === metadata.generation
    const ready = isCurrent ? Math.min(status?.updatedReplicas ?? 0, status?.availableReplicas ?? 0) : 0
    if (ready >= wanted) return
    const name = Identifier.of(region)
    const progressing = Conditions.get(status?.conditions, "Progressing")
    // What a cluster says is for the log.
    if (isCurrent && progressing?.status === "False")
      return yield* Reasons.rollout_stuck({ region: name }, { why: progressing.message })
    return yield* Reasons.rolling_out({ ready, wanted, region: name }, { after: "1 second" })
  })
