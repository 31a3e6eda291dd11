/** The controller under measurement: it writes a status that tells the spec's value, and nothing where that is so already. */
import type * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Controller from "@berth/kube/Controller"
import type { Ref } from "@berth/kube/KubeObject"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import { Clock, Effect, Option } from "effect"
import { cpuSeconds, emit } from "./report.ts"
import type { Condition, Widget } from "./widget.ts"

/** Counts reconciles and writes; with `expect`, reports each pass of so many reconciles. */
export const counts = (expect: number) => {
  let started = 0
  let finished = 0
  let writes = 0
  let failed = 0
  let passAt = 0
  let passCpu = 0

  const start = (): void => {
    started += 1
    if (expect === 0 || started % expect !== 1) return
    passAt = performance.now()
    passCpu = cpuSeconds()
  }
  const end = (): void => {
    finished += 1
    if (expect === 0 || finished % expect !== 0) return
    const passMs = performance.now() - passAt
    emit("pass", {
      pass: finished / expect - 1,
      n: expect,
      ms: passMs,
      cpu_ms: (cpuSeconds() - passCpu) * 1000,
      per_s: (expect * 1000) / passMs
    })
  }
  return {
    start,
    end,
    wrote: (): void => void (writes += 1),
    failed: (): void => void (failed += 1),
    totals: () => ({ reconciles: started, writes, failed })
  }
}

export type Counts = ReturnType<typeof counts>

const ready = ({ metadata, spec }: Widget, lastTransitionTime: string): Condition => ({
  type: "Ready",
  status: "True",
  reason: "Reconciled",
  message: `value is ${spec.value}`,
  observedGeneration: metadata.generation ?? 0,
  lastTransitionTime
})

const reconcile = Effect.fnUntraced(function* (definition: Cache.Definition<Widget>, counts: Counts, ref: Ref) {
  const cache = yield* Caches.open(definition)
  const found = yield* cache.get(ref)
  if (Option.isNone(found)) return Requeue.none
  const widget = found.value
  const { generation } = widget.metadata
  if (generation === undefined || widget.status?.observedGeneration === generation) return Requeue.none
  const nowMs = yield* Clock.currentTimeMillis
  const before = widget.status?.conditions?.find(({ type }) => type === "Ready")
  const time = before?.lastTransitionTime ?? `${new Date(nowMs).toISOString().slice(0, 19)}Z`
  const status = { observedGeneration: generation, conditions: [ready(widget, time)] }
  const client = yield* Client
  counts.wrote()
  yield* client.update(definition.type, { ...widget, status }, { subresource: "status" })
  return Requeue.none
})

export const make = (
  definition: Cache.Definition<Widget>,
  counts: Counts,
  options: Pick<Controller.Options<never, never, never>, "concurrency" | "resync">
) =>
  Controller.make({
    ...options,
    name: definition.type.plural,
    watches: [Watch.on(definition)],
    reconcile: (ref) => {
      counts.start()
      return reconcile(definition, counts, ref).pipe(
        Effect.tapError(() => Effect.sync(counts.failed)),
        Effect.ensuring(Effect.sync(counts.end))
      )
    }
  })
