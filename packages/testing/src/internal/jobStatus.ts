/**
 * What the Job controller does next, as a function of the Job, its Pods and the time. Nothing here asks or writes.
 *
 * A Pod that has ended is counted in three steps, as in Kubernetes, so that a crash between two of them counts nothing twice:
 * its UID is noted in the status, its finalizer is removed, and the note becomes a number.
 */
import { type Condition, type Job, type JobStatus, type Pod, timestamp } from "./workloadTypes.ts"

export const trackingFinalizer = "batch.kubernetes.io/job-tracking"

/** What the controller remembers of failures, to wait before it replaces a Pod. */
export interface Failures {
  readonly inARow: number
  readonly lastAtMs: number
}

export interface Plan {
  /** Written first; the same as before if nothing is new. */
  readonly noted: JobStatus
  /** Their finalizers go once that is written. */
  readonly release: ReadonlyArray<Pod>
  /** Written once they have gone. */
  readonly counted: JobStatus
  /** To be deleted: since the Job ends, or since they are too many; the latter have been released before and do not count. */
  readonly delete: ReadonlyArray<Pod>
  readonly create: number
  readonly failures: Failures
  /** Look again then, if nothing happens before. */
  readonly againAtMs: number | undefined
}

export const holds = (conditions: ReadonlyArray<Condition> = [], type: string): Condition | undefined =>
  conditions.find((condition) => condition.type === type && condition.status === "True")

export const finished = (job: Job): Condition | undefined =>
  holds(job.status?.conditions, "Complete") ?? holds(job.status?.conditions, "Failed")

const isTracked = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(trackingFinalizer) ?? false

const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined

const hasEnded = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed"

const uid = ({ metadata }: Pod): string => metadata.uid ?? ""

/** A Pod on its way out has failed already, unless the Job wants to see it end. */
const hasFailed =
  (job: Job) =>
  (pod: Pod): boolean =>
    pod.status?.phase === "Failed" ||
    (isTerminating(pod) && pod.status?.phase !== "Succeeded" && job.spec.podReplacementPolicy !== "Failed")

interface Verdict {
  readonly target: "SuccessCriteriaMet" | "FailureTarget"
  readonly final: "Complete" | "Failed"
  readonly reason: string
  readonly message: string
}

const failure = (reason: string, message: string): Verdict => ({
  target: "FailureTarget",
  final: "Failed",
  reason,
  message
})

const backoffLimitExceeded = failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
const deadlineExceeded = failure("DeadlineExceeded", "Job was active longer than specified deadline")
const completionsReached: Verdict = {
  target: "SuccessCriteriaMet",
  final: "Complete",
  reason: "CompletionsReached",
  message: "Reached expected number of succeeded pods"
}

/** With restartPolicy OnFailure it is the restarts of containers that count, of Pods that still run. */
const restarts = (job: Job, active: ReadonlyArray<Pod>): number =>
  job.spec.template.spec.restartPolicy === "OnFailure"
    ? active
        .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
        .reduce((sum, { restartCount }) => sum + restartCount, 0)
    : 0

const deadlineAtMs = ({ spec, status }: Job): number | undefined =>
  spec.activeDeadlineSeconds === undefined || status?.startTime === undefined || spec.suspend === true
    ? undefined
    : Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1_000

/** An earlier verdict stands: it was written before anything was done about it. */
const earlier = ({ status }: Job): Verdict | undefined => {
  const met = holds(status?.conditions, "SuccessCriteriaMet")
  const target = holds(status?.conditions, "FailureTarget")
  return met === undefined
    ? target && failure(target.reason ?? "", target.message ?? "")
    : { ...completionsReached, reason: met.reason ?? "", message: met.message ?? "" }
}

interface Tally {
  readonly succeeded: number
  readonly failed: number
  readonly active: ReadonlyArray<Pod>
  readonly terminating: ReadonlyArray<Pod>
}

const verdict = (job: Job, tally: Tally, nowMs: number): Verdict | undefined => {
  const { backoffLimit = 6, completions } = job.spec
  const before = earlier(job)
  if (before !== undefined) {
    return before
  }
  const restarted = restarts(job, tally.active)
  if (tally.failed > backoffLimit || (restarted > 0 && restarted >= backoffLimit)) {
    return backoffLimitExceeded
  }
  if (nowMs >= (deadlineAtMs(job) ?? Infinity)) {
    return deadlineExceeded
  }
  const done =
    completions === undefined ? tally.succeeded > 0 && tally.active.length === 0 : tally.succeeded >= completions
  return done && job.spec.suspend !== true ? completionsReached : undefined
}

/** Adds or changes one condition; one that holds already keeps its times. */
const set = (
  list: ReadonlyArray<Condition>,
  type: string,
  status: "True" | "False",
  { message, reason }: { readonly reason: string; readonly message: string },
  now: string
): ReadonlyArray<Condition> => {
  const next = { type, status, reason, message, lastProbeTime: now, lastTransitionTime: now }
  const at = list.findIndex((condition) => condition.type === type)
  return at < 0 ? [...list, next] : list[at]?.status === status ? list : list.with(at, next)
}

const suspended = { reason: "JobSuspended", message: "Job suspended" }
const resumed = { reason: "JobResumed", message: "Job resumed" }

const conditionsFor = (job: Job, ends: Verdict | undefined, now: string): ReadonlyArray<Condition> => {
  const before = job.status?.conditions ?? []
  if (ends !== undefined) {
    return set(before, ends.target, "True", ends, now)
  }
  if (job.spec.suspend === true) {
    return set(before, "Suspended", "True", suspended, now)
  }
  return holds(before, "Suspended") === undefined ? before : set(before, "Suspended", "False", resumed, now)
}

/** Without a time while it is suspended, and with a new one from each resumption. */
const startTime = (job: Job, ends: Verdict | undefined, now: string): { readonly startTime?: string } => {
  if (job.spec.suspend === true && ends === undefined) {
    return {}
  }
  return { startTime: job.status?.startTime ?? now }
}

const firstBackoffMs = 10_000
const backoffMaxMs = 600_000

const replaceAtMs = ({ inARow, lastAtMs }: Failures): number =>
  inARow === 0 ? 0 : lastAtMs + Math.min(firstBackoffMs * 2 ** (inARow - 1), backoffMaxMs)

const wanted = ({ spec: { completions, parallelism = 1 } }: Job, { active, succeeded }: Tally): number =>
  completions === undefined
    ? succeeded > 0
      ? Math.min(active.length, parallelism)
      : parallelism
    : Math.min(parallelism, completions - succeeded)

/** Before the verdict of the deadline itself: what there is to wait for. */
const soonest = (...times: ReadonlyArray<number | undefined>): number | undefined => {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

const isReady = ({ status }: Pod): boolean => holds(status?.conditions, "Ready") !== undefined

/** Zero is not written, as in Kubernetes. */
const count = <K extends string>(name: K, value: number): Partial<Record<K, number>> => {
  const some: Partial<Record<K, number>> = {}
  return value === 0 ? some : { ...some, [name]: value }
}

/** The Pods that ended since the last count, with those that were noted then. */
const ended = (job: Job, pods: ReadonlyArray<Pod>) => {
  const { failed: notedFailed = [], succeeded: notedSucceeded = [] } = job.status?.uncountedTerminatedPods ?? {}
  const tracked = pods.filter(isTracked)
  const fresh = tracked.filter((pod) => ![...notedFailed, ...notedSucceeded].includes(uid(pod)))
  const succeeded = fresh.filter(({ status }) => status?.phase === "Succeeded")
  const failed = fresh.filter(hasFailed(job))
  return {
    fresh: { succeeded, failed },
    succeeded: [...notedSucceeded, ...succeeded.map(uid)],
    failed: [...notedFailed, ...failed.map(uid)]
  }
}

const failuresAfter = (
  before: Failures,
  fresh: { readonly succeeded: number; readonly failed: number },
  nowMs: number
): Failures =>
  fresh.failed > 0
    ? { inARow: (fresh.succeeded > 0 ? 0 : before.inARow) + fresh.failed, lastAtMs: nowMs }
    : fresh.succeeded > 0
      ? { inARow: 0, lastAtMs: 0 }
      : before

interface Scaling {
  readonly delete: ReadonlyArray<Pod>
  readonly create: number
  readonly againAtMs: number | undefined
}

/** What to delete and to create, while the Job goes on. */
const scale = (job: Job, tally: Tally, failures: Failures, nowMs: number): Scaling => {
  if (job.spec.suspend === true) {
    return { delete: tally.active, create: 0, againAtMs: undefined }
  }
  const waitsFor = job.spec.podReplacementPolicy === "Failed" ? tally.terminating.length : 0
  const missing = wanted(job, tally) - tally.active.length - waitsFor
  const atMs = replaceAtMs(failures)
  return missing > 0 && atMs > nowMs
    ? { delete: [], create: 0, againAtMs: atMs }
    : { delete: missing < 0 ? tally.active.slice(missing) : [], create: Math.max(0, missing), againAtMs: undefined }
}

const tallyOf = (status: JobStatus, pods: ReadonlyArray<Pod>, over: ReturnType<typeof ended>): Tally => {
  const running = pods.filter((pod) => !hasEnded(pod))
  return {
    succeeded: (status.succeeded ?? 0) + over.succeeded.length,
    failed: (status.failed ?? 0) + over.failed.length,
    active: running.filter((pod) => !isTerminating(pod)),
    terminating: running.filter(isTerminating)
  }
}

const optional = <K extends string, A>(name: K, value: ReadonlyArray<A>): Partial<Record<K, ReadonlyArray<A>>> => {
  const some: Partial<Record<K, ReadonlyArray<A>>> = {}
  return value.length === 0 ? some : { ...some, [name]: value }
}

/** The next steps of a Job that has not finished. */
export const plan = (job: Job, pods: ReadonlyArray<Pod>, before: Failures, nowMs: number): Plan => {
  const now = timestamp(nowMs)
  const status = job.status ?? {}
  const over = ended(job, pods)
  const tally = tallyOf(status, pods, over)
  const ends = verdict(job, tally, nowMs)
  const fresh = { succeeded: over.fresh.succeeded.length, failed: over.fresh.failed.length }
  const failures = failuresAfter(before, fresh, nowMs)
  const next: Scaling =
    ends === undefined ? scale(job, tally, failures, nowMs) : { delete: tally.active, create: 0, againAtMs: undefined }
  // A Job that fails takes the Pods that still run with it, whether they have ended or not.
  const taken =
    ends?.final === "Failed"
      ? pods.filter((pod) => isTracked(pod) && !hasEnded(pod) && !over.failed.includes(uid(pod)))
      : []
  const noted = { succeeded: over.succeeded, failed: [...over.failed, ...taken.map(uid)] }
  const terminating = tally.terminating.length + next.delete.length
  const common = {
    ...startTime(job, ends, now),
    ...count("active", ends === undefined ? tally.active.length - next.delete.length + next.create : 0),
    ready: tally.active.filter((pod) => isReady(pod) && !next.delete.includes(pod)).length,
    terminating
  }
  const conditions = conditionsFor(job, ends, now)
  const isOver = ends !== undefined && terminating === 0
  const deadline = deadlineAtMs({ ...job, status: common })
  return {
    noted: {
      ...common,
      ...count("succeeded", status.succeeded ?? 0),
      ...count("failed", status.failed ?? 0),
      ...optional("conditions", conditions),
      uncountedTerminatedPods: { ...optional("succeeded", noted.succeeded), ...optional("failed", noted.failed) }
    },
    counted: {
      ...common,
      ...count("succeeded", tally.succeeded),
      ...count("failed", tally.failed + taken.length),
      ...optional("conditions", isOver ? set(conditions, ends.final, "True", ends, now) : conditions),
      ...(isOver && ends.final === "Complete" ? { completionTime: now } : {}),
      uncountedTerminatedPods: {}
    },
    release: pods.filter(
      (pod) =>
        isTracked(pod) &&
        (ends !== undefined || [...noted.succeeded, ...noted.failed].includes(uid(pod)) || next.delete.includes(pod))
    ),
    delete: next.delete,
    create: next.create,
    failures,
    againAtMs: soonest(next.againAtMs, ends === undefined ? deadline : undefined)
  }
}
