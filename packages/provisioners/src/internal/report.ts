/** What a pass came to, for logs and metrics: logs have all of it, metrics the reason only (P3). */
import type { ResourceType } from "@berth/kube/ResourceType"
import { Effect, Metric } from "effect"
import * as Disposition from "../Disposition.ts"
import type { Phase } from "../Progress.ts"

const passes = Metric.counter("berth_passes_total", {
  description: "Passes by kind, phase, outcome (Ready or a disposition) and reason",
  incremental: true
})

const level = (leaf: Disposition.ProvisionError) => (leaf._tag === "Yield" ? Effect.logDebug : Effect.logWarning)

const log = (phase: Phase, leaf: Disposition.ProvisionError) =>
  level(leaf)(leaf.message, ...(leaf.cause === undefined ? [] : [leaf.cause])).pipe(
    Effect.annotateLogs({
      phase,
      disposition: leaf._tag,
      vocabulary: leaf.vocabulary,
      reason: leaf.reason,
      ...(leaf.why === undefined ? {} : { why: leaf.why })
    })
  )

export const pass = (
  type: ResourceType,
  phase: Phase,
  failure: Disposition.ProvisionError | undefined
): Effect.Effect<void> => {
  const labels = {
    kind: type.kind,
    phase,
    outcome: failure?._tag ?? "Ready",
    reason: failure === undefined ? "" : `${failure.vocabulary}.${failure.reason}`
  }
  const leaves = failure === undefined ? [] : Disposition.leaves(failure)
  return Effect.andThen(
    Effect.forEach(leaves, (leaf) => log(phase, leaf), { discard: true }),
    Metric.update(Metric.withAttributes(passes, labels), 1)
  )
}
