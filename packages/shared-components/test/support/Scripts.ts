/** Ends Jobs as the test says, in place of a node that would run them. */
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as KubeObjects from "@berth/kube/KubeObject"
import { DateTime, Effect, Queue, type Scope } from "effect"

/** What becomes of a Job; `runs` leaves it as it is until the test decides otherwise. */
export type Ending = "succeeds" | "fails" | "hangs" | "runs"

export interface Scripts {
  /** Says how Jobs end from now on, those that run included. By default all succeed. */
  readonly decide: (decision: (job: Builtin.Job) => Ending) => Effect.Effect<void>
  /** The names of all Jobs that there ever were, in order. */
  readonly seen: Effect.Effect<ReadonlyArray<string>>
}

const conditionsOf = (ending: Exclude<Ending, "runs">) => {
  const [interim, final] = ending === "succeeds" ? ["SuccessCriteriaMet", "Complete"] : ["FailureTarget", "Failed"]
  const reason =
    ending === "succeeds" ? "CompletionsReached" : ending === "fails" ? "BackoffLimitExceeded" : "DeadlineExceeded"
  return [interim, final].map((type) => ({ type, status: "True", reason }))
}

const isOver = ({ status }: Builtin.Job): boolean =>
  status?.conditions?.some(({ type }) => type === "Complete" || type === "Failed") === true

export const make: Effect.Effect<Scripts, never, Caches.Caches | Client | Scope.Scope> = Effect.gen(function* () {
  const client = yield* Client
  const cache = yield* Caches.open(Cache.define(Builtin.Job))
  const seen = new Set<string>()
  let decision: (job: Builtin.Job) => Ending = () => "succeeds"
  const queue = yield* Queue.unbounded<Builtin.Job>()

  yield* cache.subscribe(({ _tag, object }) => {
    seen.add(object.metadata.name)
    if (_tag !== "Deleted") Queue.offerUnsafe(queue, object)
  })

  const end = Effect.fnUntraced(function* (job: Builtin.Job) {
    if (isOver(job) || job.metadata.deletionTimestamp !== undefined) return
    const ending = decision(job)
    if (ending === "runs") return
    const now = DateTime.formatIso(yield* DateTime.now).replace(/\.\d+Z$/u, "Z")
    const counts = ending === "succeeds" ? { succeeded: 1, completionTime: now } : { failed: 1 }
    const status = { startTime: now, ...counts, conditions: conditionsOf(ending) }
    const patch = { metadata: { uid: job.metadata.uid }, status }
    // The Job may be gone, which is as good.
    yield* Effect.ignore(
      client.patch(Builtin.Job, KubeObjects.ref(job), { type: "merge", patch }, { subresource: "status" })
    )
  })

  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(queue), end)))
  return {
    decide: (next) =>
      Effect.flatMap(cache.list(), (jobs) =>
        Effect.sync(() => {
          decision = next
          for (const job of jobs) Queue.offerUnsafe(queue, job)
        })
      ),
    seen: Effect.sync(() => [...seen])
  }
})
