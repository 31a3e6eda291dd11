/**
 * The world outside of the cluster that scripts change: which slices there are, and with which credentials.
 *
 * It runs Jobs as a node would: what a Job does is read from its Secret, and a Job whose Secret is gone does not start.
 */
import * as Builtin from "@berth/kube/Builtin"
import type { Client } from "@berth/kube/Client"
import * as KubeObjects from "@berth/kube/KubeObject"
import { DateTime, Effect, Option } from "effect"

/** `half`: it does what it should, and fails then. */
export type Ending = "succeeds" | "fails" | "half" | "hangs" | "runs"

export interface Run {
  readonly job: string
  readonly action: string
  readonly sliceId: string
  readonly secret: string
  readonly attempt: string
  readonly admin: string
}

/** What the scripts of a test say: their action, the slice, its credentials and the attempt. */
export const script = (action: "provision" | "deprovision") =>
  `${action} {{ .Slice.Id }} {{ .Env.GeneratedSecret }} {{ .Attempt }} {{ .Instance.password }}`

const isOver = ({ status }: Builtin.Job): boolean =>
  status?.conditions?.some(({ type }) => type === "Complete" || type === "Failed") === true

const statusOf = (ending: Exclude<Ending, "runs">, now: string) => {
  const isGood = ending === "succeeds"
  const reason = isGood ? "CompletionsReached" : ending === "hangs" ? "DeadlineExceeded" : "BackoffLimitExceeded"
  const types = isGood ? ["SuccessCriteriaMet", "Complete"] : ["FailureTarget", "Failed"]
  return {
    startTime: now,
    ...(isGood ? { succeeded: 1, completionTime: now } : { failed: 1 }),
    conditions: types.map((type) => ({ type, status: "True", reason }))
  }
}

export const make = (client: Client["Service"], namespace: string) => {
  /** The credentials of each slice that exists. */
  const slices = new Map<string, string>()
  const runs: Array<Run> = []
  let decision: (run: Run) => Ending = () => "succeeds"

  const change = ({ action, secret, sliceId }: Run): void => {
    if (action === "provision") slices.set(sliceId, secret)
    else slices.delete(sliceId)
  }

  const runOf = Effect.fnUntraced(function* (job: Builtin.Job) {
    const name = `${job.metadata.name}-input`
    const input = yield* Effect.option(client.get(Builtin.Secret, { name, namespace }))
    if (Option.isNone(input)) return undefined
    const text = Buffer.from(input.value.data?.["script"] ?? "", "base64").toString("utf8")
    const [action = "", sliceId = "", secret = "", attempt = "", admin = ""] = text.split(" ")
    return { job: job.metadata.name, action, sliceId, secret, attempt, admin }
  })

  const end = Effect.fnUntraced(function* (job: Builtin.Job) {
    const run = yield* runOf(job)
    const ending = run === undefined ? "runs" : decision(run)
    if (run === undefined || ending === "runs") return false
    runs.push(run)
    if (ending === "succeeds" || ending === "half") change(run)
    const now = DateTime.formatIso(yield* DateTime.now).replace(/\.\d+Z$/u, "Z")
    const patch = { metadata: { uid: job.metadata.uid }, status: statusOf(ending, now) }
    yield* client.patch(Builtin.Job, KubeObjects.ref(job), { type: "merge", patch }, { subresource: "status" })
    return true
  })

  return {
    slices,
    runs,
    decide: (next: (run: Run) => Ending) => {
      decision = next
    },
    /** Runs every Job that is there and has not ended; says whether any did. */
    work: Effect.gen(function* () {
      const { items } = yield* client.list(Builtin.Job, { namespace })
      const due = items.filter((job) => !isOver(job) && job.metadata.deletionTimestamp === undefined)
      const ended = yield* Effect.forEach(due, end)
      return ended.includes(true)
    }).pipe(Effect.orDie)
  }
}
