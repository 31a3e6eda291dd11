import * as Client from "@berth/kube/Client"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Cluster from "../src/Cluster.ts"
import { plan, trackingFinalizer } from "../src/internal/jobStatus.ts"
import * as LocalNode from "../src/internal/localNode.ts"
import { Job, type JobSpec, type JobStatus, Pod } from "../src/internal/workloadTypes.ts"
import * as JobController from "../src/JobController.ts"
import { create, namespace, until, untilGone } from "./support/localCluster.ts"

describe("JobController", () => {
  it.effect("T5: a Job becomes a Pod with the labels, owner and finalizer of the real controller", () =>
    scenario(
      Effect.gen(function* () {
        const job = yield* create.job("a")

        const [pod] = yield* podsOf("a", 1)

        const uid = job.metadata.uid ?? ""
        assert.deepInclude(
          { ...pod?.metadata.labels },
          {
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": "a",
            "controller-uid": uid,
            "job-name": "a"
          }
        )
        assert.deepInclude({ ...pod?.metadata.ownerReferences?.[0] }, { kind: "Job", name: "a", uid, controller: true })
        assert.deepStrictEqual(pod?.metadata.finalizers, [trackingFinalizer])
        assert.isTrue(pod?.metadata.name.startsWith("a-"))
        assert.deepInclude(yield* statusOf("a", ({ active }) => active === 1), { active: 1, ready: 0, terminating: 0 })
      })
    )
  )

  it.effect("T5: a Pod's success makes the Job's criteria met, then the Job complete, and frees the Pod", () =>
    scenario(
      Effect.gen(function* () {
        yield* create.job("a")
        const [pod] = yield* podsOf("a", 1)
        yield* end(pod, "Succeeded")

        const status = yield* statusOf("a", has("Complete"))

        assert.deepInclude(status, { succeeded: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} })
        assert.isUndefined(status.active)
        assert.strictEqual(status.completionTime, status.startTime)
        assert.deepStrictEqual(outcome(status), [
          ["SuccessCriteriaMet", "CompletionsReached"],
          ["Complete", "CompletionsReached"]
        ])
        const [after] = yield* podsOf("a", 1)
        assert.isUndefined(after?.metadata.finalizers)
      })
    )
  )

  it.effect("T5: with backoffLimit 0 the first failure ends the Job, and no other Pod is made", () =>
    scenario(
      Effect.gen(function* () {
        yield* create.job("a", { backoffLimit: 0 })
        const [pod] = yield* podsOf("a", 1)
        yield* end(pod, "Failed")

        const status = yield* statusOf("a", has("Failed"))

        assert.strictEqual(status.failed, 1)
        assert.isUndefined(status.completionTime)
        assert.deepStrictEqual(outcome(status), [
          ["FailureTarget", "BackoffLimitExceeded"],
          ["Failed", "BackoffLimitExceeded"]
        ])
        assert.lengthOf(yield* podsOf("a", 1), 1)
      })
    )
  )

  it.effect(
    "T5, T8: a failed Pod is replaced after ten seconds, the next one after twenty, until the limit is passed",
    () =>
      scenario(
        Effect.gen(function* () {
          yield* create.job("a", { backoffLimit: 2 })
          const [first] = yield* podsOf("a", 1)
          yield* end(first, "Failed")
          yield* statusOf("a", ({ active, failed }) => failed === 1 && active === undefined)

          yield* TestClock.adjust("9999 millis")
          const early = yield* podsOf("a", 1)
          yield* TestClock.adjust("1 millis")
          const second = newest(yield* podsOf("a", 2))
          yield* end(second, "Failed")
          yield* statusOf("a", ({ active, failed }) => failed === 2 && active === undefined)
          yield* TestClock.adjust("20 seconds")
          yield* end(newest(yield* podsOf("a", 3)), "Failed")

          assert.lengthOf(early, 1)
          const status = yield* statusOf("a", has("Failed"))
          assert.strictEqual(status.failed, 3)
          assert.strictEqual(outcome(status).at(-1)?.[1], "BackoffLimitExceeded")
        })
      )
  )

  it.each([
    { inARow: 1, afterMs: 10_000, reason: "the first failure may have been an accident" },
    { inARow: 2, afterMs: 20_000, reason: "the second makes it less likely" },
    { inARow: 20, afterMs: 600_000, reason: "what is mended must be noticed within ten minutes" }
  ])(
    "T8: after $inARow failures in a row a Pod is replaced $afterMs ms later, since $reason",
    ({ afterMs, inARow }) => {
      const job: Job = {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "a", namespace },
        spec: { backoffLimit: 100, completions: 1, template: { spec: { containers: [] } } },
        status: { failed: inARow }
      }
      const at = (nowMs: number) => plan(job, [], { inARow, lastAtMs: 0 }, nowMs)

      assert.deepInclude(at(afterMs - 1), { create: 0, againAtMs: afterMs })
      assert.deepInclude(at(afterMs), { create: 1, againAtMs: undefined })
    }
  )

  it.effect("T5, T8: at its deadline a Job fails, and takes its Pods with it", () =>
    scenario(
      Effect.gen(function* () {
        yield* create.job("a", { activeDeadlineSeconds: 3_600 })
        const [pod] = yield* podsOf("a", 1)
        yield* statusOf("a", ({ active }) => active === 1)

        yield* TestClock.adjust("3599 seconds")
        assert.isUndefined((yield* statusOf("a", () => true)).conditions)
        yield* TestClock.adjust("1 second")

        const status = yield* statusOf("a", has("Failed"))
        assert.deepStrictEqual(outcome(status), [
          ["FailureTarget", "DeadlineExceeded"],
          ["Failed", "DeadlineExceeded"]
        ])
        assert.strictEqual(status.failed, 1)
        yield* untilGone(Pod, { namespace, name: pod?.metadata.name ?? "" })
      })
    )
  )

  it.effect("T5: never more Pods at once than parallelism, and no more successes than completions", () =>
    scenario(
      Effect.gen(function* () {
        yield* create.job("a", { completions: 3, parallelism: 2 })
        const pair = yield* podsOf("a", 2)
        yield* end(pair[0], "Succeeded")
        const three = yield* podsOf("a", 3)
        yield* end(pair[1], "Succeeded")
        const counted = yield* statusOf("a", ({ active, succeeded }) => succeeded === 2 && active === 1)
        yield* end(
          three.find(({ metadata }) => !pair.some((pod) => pod.metadata.uid === metadata.uid)),
          "Succeeded"
        )

        const status = yield* statusOf("a", has("Complete"))

        assert.isUndefined(counted.conditions)
        assert.strictEqual(status.succeeded, 3)
        assert.lengthOf(yield* podsOf("a", 3), 3)
      })
    )
  )

  it.effect("T5: a suspended Job has no Pods and no start time; what it lost by suspension is not a failure", () =>
    scenario(
      Effect.gen(function* () {
        yield* create.job("a", { suspend: true })
        const before = yield* statusOf("a", has("Suspended"))
        yield* change("a", { suspend: false })
        const [pod] = yield* podsOf("a", 1)
        const resumed = yield* statusOf("a", ({ active }) => active === 1)
        yield* change("a", { suspend: true })

        yield* untilGone(Pod, { namespace, name: pod?.metadata.name ?? "" })
        const after = yield* statusOf("a", (status) => has("Suspended")(status) && status.terminating === 0)

        assert.isUndefined(before.startTime)
        assert.deepInclude({ ...resumed.conditions?.[0] }, { type: "Suspended", status: "False", reason: "JobResumed" })
        assert.isString(resumed.startTime)
        assert.deepInclude({ ...after.conditions?.[0] }, { type: "Suspended", status: "True", reason: "JobSuspended" })
        assert.deepStrictEqual([after.failed, after.startTime], [undefined, undefined])
      })
    )
  )

  it.effect.each<{ policy: NonNullable<JobSpec["podReplacementPolicy"]>; replaced: boolean; reason: string }>([
    { policy: "TerminatingOrFailed", replaced: true, reason: "a Pod on its way out counts as failed" },
    { policy: "Failed", replaced: false, reason: "two Pods must never run at once" }
  ])(
    "T5: under podReplacementPolicy $policy a deleted Pod is replaced at once: $replaced, since $reason",
    ({ policy, replaced }) =>
      scenario(
        Effect.gen(function* () {
          const client = yield* Client.Client
          yield* create.job("a", { podReplacementPolicy: policy })
          const [pod] = yield* podsOf("a", 1)
          yield* bind(pod)
          yield* client.delete(Pod, { namespace, name: pod?.metadata.name ?? "" })

          const status = yield* statusOf(
            "a",
            ({ failed, terminating }) => terminating === 1 && (!replaced || failed === 1)
          )
          yield* TestClock.adjust("10 seconds")

          assert.strictEqual(status.failed, replaced ? 1 : undefined)
          assert.deepStrictEqual(status.uncountedTerminatedPods, {})
          if (replaced) {
            assert.lengthOf(yield* podsOf("a", 2), 2)
          } else {
            yield* end(pod, "Failed")
            yield* statusOf("a", ({ failed }) => failed === 1)
            yield* TestClock.adjust("10 seconds")
            yield* statusOf("a", ({ active }) => active === 1)
          }
        })
      )
  )

  it.effect("T5, T8: a finished Job goes when its time to live is over, and its Pods with it", () =>
    scenario(
      Effect.gen(function* () {
        const client = yield* Client.Client
        yield* create.job("a", { ttlSecondsAfterFinished: 60 })
        const [pod] = yield* podsOf("a", 1)
        yield* end(pod, "Succeeded")
        yield* statusOf("a", has("Complete"))

        // The controller looks at one Job after the other: it has seen the end of the first when it makes Pods of another.
        yield* create.job("b")
        yield* podsOf("b", 1)
        const leaving = yield* Effect.forkChild(
          until(Job, { namespace, name: "a" }, ({ metadata }) => metadata.deletionTimestamp !== undefined)
        )

        yield* TestClock.adjust("59 seconds")
        const early = yield* client.get(Job, { namespace, name: "a" })
        yield* TestClock.adjust("1 second")

        const { metadata } = yield* Fiber.join(leaving)
        assert.isUndefined(early.metadata.deletionTimestamp)
        assert.strictEqual(metadata.deletionTimestamp, "1970-01-01T00:01:00Z")
        yield* untilGone(Job, { namespace, name: "a" })
        yield* untilGone(Pod, { namespace, name: pod?.metadata.name ?? "" })
      })
    )
  )

  it.effect("T5: Pods of a Job that was deleted are let go", () =>
    scenario(
      Effect.gen(function* () {
        const client = yield* Client.Client
        yield* create.job("a")
        const [pod] = yield* podsOf("a", 1)
        yield* statusOf("a", ({ active }) => active === 1)

        yield* client.delete(Job, { namespace, name: "a" })

        yield* untilGone(Pod, { namespace, name: pod?.metadata.name ?? "" })
      })
    )
  )
})

const scenario = <A, E>(test: Effect.Effect<A, E, Client.Client>) =>
  test.pipe(Effect.provide(JobController.layer.pipe(Layer.provideMerge(Cluster.embeddedWithClient()))))

/** The Pods of a Job, once there are as many. */
const podsOf = (job: string, atLeast: number): Effect.Effect<ReadonlyArray<Pod>, never, Client.Client> =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const labelSelector = `job-name=${job}`
    const { items, resourceVersion } = yield* client.list(Pod, { namespace, labelSelector })
    if (items.length >= atLeast) {
      return items
    }
    yield* Stream.runHead(client.watch(Pod, { namespace, labelSelector, resourceVersion }))
    return yield* podsOf(job, atLeast)
  }).pipe(Effect.orDie)

const newest = (pods: ReadonlyArray<Pod>): Pod | undefined =>
  pods
    .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .find(({ status }) => status?.phase !== "Failed")

const statusOf = (job: string, isAsExpected: (status: JobStatus) => boolean) =>
  Effect.map(
    until(Job, { namespace, name: job }, ({ status }) => status !== undefined && isAsExpected(status)),
    ({ status }) => status ?? {}
  )

const has =
  (type: string) =>
  ({ conditions = [] }: JobStatus): boolean =>
    conditions.some((condition) => condition.type === type && condition.status === "True")

const outcome = ({ conditions = [] }: JobStatus) => conditions.map(({ reason, type }) => [type, reason])

const end = (pod: Pod | undefined, phase: "Succeeded" | "Failed") =>
  Client.Client.use((client) =>
    client.patch(
      Pod,
      { namespace, name: pod?.metadata.name ?? "" },
      { type: "merge", patch: { status: { phase } } },
      { subresource: "status" }
    )
  )

const change = (job: string, spec: Partial<JobSpec>) =>
  Client.Client.use((client) => client.patch(Job, { namespace, name: job }, { type: "merge", patch: { spec } }))

/** On a node, so that a deletion waits for somebody to end it. */
const bind = (pod: Pod | undefined) =>
  Client.Client.use((client) => LocalNode.bind(client, pod ?? assert.fail("no Pod"), "somewhere"))
