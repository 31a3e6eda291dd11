/**
 * Makes Pods of Jobs and counts how they end: the part of a control plane that Jobs need, for a cluster that has none.
 *
 * **Guarantees**
 * - T5: Jobs become Pods with the labels, owner and finalizer that the real controller gives them, and their status takes
 *   the same steps: `completions`, `parallelism`, `backoffLimit`, `activeDeadlineSeconds`, `suspend`,
 *   `podReplacementPolicy`, `ttlSecondsAfterFinished`; conditions SuccessCriteriaMet and Complete, FailureTarget and Failed,
 *   Suspended, with their reasons.
 * - T8: deadlines, the pause before a failed Pod is replaced (10 s, doubled up to ten minutes) and the time to live follow the
 *   Effect clock.
 *
 * **Caveats**
 * - Beside a real kube-controller-manager it would make every Pod twice: for the embedded cluster only.
 * - Not there: indexed Jobs, pod failure and success policies, CronJobs, Events. Jobs `managedBy` somebody else are left alone.
 * - After a restart it does not remember earlier failures, so that the first replacement comes at once.
 *
 * @since 0.1.0
 */
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import * as KubeObject from "@berth/kube/KubeObject"
import { Clock, Duration, Effect, FiberMap, Layer, Queue, type Scope } from "effect"
import { follow } from "./internal/follow.ts"
import * as JobStatus from "./internal/jobStatus.ts"
import { pause } from "./internal/realTime.ts"
import { Job, Pod, timestamp } from "./internal/workloadTypes.ts"

type Api = Client.Client["Service"]

const fieldManager = "berth-job-controller"

const ownLabels = ({ metadata: { name, uid = "" } }: Job) => ({
  "batch.kubernetes.io/controller-uid": uid,
  "batch.kubernetes.io/job-name": name,
  "controller-uid": uid,
  "job-name": name
})

const owner = ({ metadata: { name, uid = "" } }: Job): KubeObject.OwnerReference => ({
  apiVersion: "batch/v1",
  kind: "Job",
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true
})

const jobOf = ({ metadata }: Pod): KubeObject.OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller, kind }) => controller === true && kind === "Job")

const createPod = (client: Api, job: Job) => {
  const { metadata = {}, spec } = job.spec.template
  const namespace = job.metadata.namespace ?? "default"
  return client.create(
    Pod,
    {
      metadata: {
        generateName: `${job.metadata.name}-`,
        namespace,
        labels: { ...metadata.labels, ...ownLabels(job) },
        annotations: { ...metadata.annotations },
        finalizers: [...(metadata.finalizers ?? []), JobStatus.trackingFinalizer],
        ownerReferences: [owner(job)]
      },
      spec
    },
    { fieldManager }
  )
}

/** Somebody else may have removed the Pod meanwhile, which is as good. */
const unlessGone = <A>(effect: Effect.Effect<A, KubeError.KubeError>): Effect.Effect<void, KubeError.KubeError> =>
  Effect.catchTag(Effect.asVoid(effect), "NotFound", () => Effect.void)

/** The resourceVersion keeps the finalizers of others: a Conflict is tried again with the next look at the Pod. */
const release = (client: Api, pod: Pod) => {
  const { finalizers = [], resourceVersion } = pod.metadata
  const patch = {
    metadata: { resourceVersion, finalizers: finalizers.filter((name) => name !== JobStatus.trackingFinalizer) }
  }
  return unlessGone(client.patch(Pod, KubeObject.ref(pod), { type: "merge", patch }, { fieldManager }))
}

const remove = (client: Api, pod: Pod) => {
  const { uid } = pod.metadata
  return unlessGone(client.delete(Pod, KubeObject.ref(pod), { preconditions: uid === undefined ? undefined : { uid } }))
}

/** Says all fields, so that those without a value go. */
const statusPatch = (status: object) => ({
  active: null,
  succeeded: null,
  failed: null,
  startTime: null,
  completionTime: null,
  ...status,
  uncountedTerminatedPods: {
    succeeded: null,
    failed: null,
    ...("uncountedTerminatedPods" in status ? Object(status.uncountedTerminatedPods) : {})
  }
})

const writeStatus = (client: Api, job: Job, status: object) =>
  client.patch(
    Job,
    KubeObject.ref(job),
    { type: "merge", patch: { metadata: { uid: job.metadata.uid }, status: statusPatch(status) } },
    { subresource: "status", fieldManager }
  )

const same = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)

/** Keys in order, so that two objects that say the same are the same text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part
  )

/** What the controller remembers between two looks at a Job, by UID. */
type Memory = Map<string, JobStatus.Failures>

const noFailures: JobStatus.Failures = { inARow: 0, lastAtMs: 0 }

const proceed = Effect.fnUntraced(function* (
  client: Api,
  job: Job,
  pods: ReadonlyArray<Pod>,
  memory: Memory
): Effect.fn.Return<number | undefined, KubeError.KubeError> {
  const nowMs = yield* Clock.currentTimeMillis
  const uid = job.metadata.uid ?? ""
  const plan = JobStatus.plan(job, pods, memory.get(uid) ?? noFailures, nowMs)
  memory.set(uid, plan.failures)
  if (!same(job.status, plan.noted)) {
    yield* writeStatus(client, job, plan.noted)
  }
  yield* Effect.forEach(plan.release, (pod) => release(client, pod))
  yield* Effect.forEach(plan.delete, (pod) => remove(client, pod))
  yield* Effect.forEach(Array.from({ length: plan.create }), () => createPod(client, job))
  if (!same(plan.noted, plan.counted)) {
    yield* writeStatus(client, job, plan.counted)
  }
  return plan.againAtMs
})

/** A finished Job holds nothing any more, and goes when its time is up. */
const settle = Effect.fnUntraced(function* (
  client: Api,
  job: Job,
  pods: ReadonlyArray<Pod>,
  finishedAt: string | undefined
): Effect.fn.Return<number | undefined, KubeError.KubeError> {
  yield* Effect.forEach(pods.filter(isTracked), (pod) => release(client, pod))
  const { ttlSecondsAfterFinished } = job.spec
  if (ttlSecondsAfterFinished === undefined) {
    return undefined
  }
  const nowMs = yield* Clock.currentTimeMillis
  const dueMs = Date.parse(finishedAt ?? timestamp(nowMs)) + ttlSecondsAfterFinished * 1_000
  if (nowMs < dueMs) {
    return dueMs
  }
  const { uid } = job.metadata
  const preconditions = uid === undefined ? undefined : { uid }
  yield* unlessGone(client.delete(Job, KubeObject.ref(job), { propagationPolicy: "Foreground", preconditions }))
  return undefined
})

const isTracked = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(JobStatus.trackingFinalizer) ?? false

const isManaged = ({ spec }: Job): boolean =>
  !("managedBy" in spec) || spec.managedBy === undefined || spec.managedBy === "kubernetes.io/job-controller"

/** One look at a Job: reads it and its Pods anew, takes the next steps, and says when to look again at the latest. */
const reconcile = Effect.fnUntraced(function* (
  client: Api,
  ref: KubeObject.Ref,
  memory: Memory
): Effect.fn.Return<number | undefined, KubeError.KubeError> {
  const job = yield* Effect.catchTag(client.get(Job, ref), "NotFound", () => Effect.succeed(undefined))
  const labelSelector = `batch.kubernetes.io/job-name=${ref.name}`
  const { items } = yield* client.list(Pod, { namespace: ref.namespace, labelSelector })
  const uid = job?.metadata.uid
  const orphans = items.filter((pod) => isTracked(pod) && jobOf(pod)?.uid !== uid)
  yield* Effect.forEach(orphans, (pod) => release(client, pod))
  if (job === undefined) {
    return undefined
  }
  if (!isManaged(job)) {
    return undefined
  }
  const pods = items.filter((pod) => jobOf(pod)?.uid === uid)
  const end = JobStatus.finished(job)
  if (end !== undefined || job.metadata.deletionTimestamp !== undefined) {
    memory.delete(uid ?? "")
    return yield* job.metadata.deletionTimestamp === undefined
      ? settle(client, job, pods, end?.lastTransitionTime)
      : Effect.as(
          Effect.forEach(pods.filter(isTracked), (pod) => release(client, pod)),
          undefined
        )
  }
  return yield* proceed(client, job, pods, memory)
})

const retryMs = 200

const run: Effect.Effect<never, never, Client.Client | Scope.Scope> = Effect.gen(function* () {
  const client = yield* Client.Client
  const queue = yield* Queue.unbounded<string>()
  const waiting = new Set<string>()
  const timers = yield* FiberMap.make<string>()
  const memory: Memory = new Map()

  const add = (key: string) =>
    Effect.sync(() => {
      if (!waiting.has(key)) {
        waiting.add(key)
        Queue.offerUnsafe(queue, key)
      }
    })
  const again = (key: string, afterMs: number) =>
    FiberMap.run(timers, key, Effect.andThen(Effect.sleep(Duration.millis(Math.max(0, afterMs))), add(key)))

  yield* Effect.forkScoped(follow(Job, ({ object }) => add(KubeObject.key(KubeObject.ref(object)))))
  yield* Effect.forkScoped(
    follow(Pod, ({ object }) => {
      const job = jobOf(object)
      return job === undefined
        ? Effect.void
        : add(KubeObject.key({ name: job.name, namespace: object.metadata.namespace }))
    })
  )
  // One at a time: a Job is never looked at twice at once, and looks are short.
  return yield* Effect.forever(
    Effect.gen(function* () {
      const key = yield* Queue.take(queue)
      waiting.delete(key)
      const result = yield* Effect.result(reconcile(client, KubeObject.fromKey(key), memory))
      if (result._tag === "Failure") {
        yield* Effect.logDebug(`${key}: ${result.failure.message}`)
        yield* FiberMap.run(timers, key, Effect.andThen(pause(retryMs), add(key)))
      } else if (result.success !== undefined) {
        yield* again(key, result.success - (yield* Clock.currentTimeMillis))
      }
    })
  )
})

/**
 * Takes care of the cluster's Jobs for as long as the layer lives. Their Pods are run by a `PodRunner`.
 *
 * **Example** (An embedded cluster that runs Jobs)
 * ```ts
 * import * as Cluster from "@berth/testing/Cluster"
 * import * as JobController from "@berth/testing/JobController"
 * import * as PodRunner from "@berth/testing/PodRunner"
 * import { Layer } from "effect"
 *
 * export const cluster = Layer.mergeAll(JobController.layer, PodRunner.layer()).pipe(
 *   Layer.provideMerge(Cluster.embeddedWithClient())
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never, never, Client.Client> = Layer.effectDiscard(Effect.forkScoped(run))
