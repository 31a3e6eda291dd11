/**
 * The life of one Pod: its volumes, its containers one after the other or side by side, its status, and its end.
 */
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import * as KubeObject from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Option, Semaphore, Scope } from "effect"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as Containers from "./containers.ts"
import type { LogBuffer } from "./logBuffer.ts"
import type { ConfigMissing, Lookup } from "./podEnvironment.ts"
import * as PodStatus from "./podStatus.ts"
import * as PodVolumes from "./podVolumes.ts"
import type * as LocalProcess from "./process.ts"
import { persistently } from "./realTime.ts"
import { type Condition, ConfigMap, type ContainerState, Pod, Secret, timestamp } from "./workloadTypes.ts"

/** What the runner has for all its Pods. */
export interface Host {
  readonly client: Client.Client["Service"]
  readonly machine: Containers.Machine
  readonly folder: string
  readonly restartBackoff: Duration.Duration
  readonly retryEvery: Duration.Duration
}

/** How the life of a Pod is ended from outside. */
export interface Stop {
  /** The seconds that its containers have left. */
  readonly asked: Deferred.Deferred<number>
  /** The life is over, and nobody waits for `asked`. */
  over: boolean
  /** The API server knows that nothing of the Pod runs. */
  released: boolean
}

interface Life {
  readonly host: Host
  readonly pod: Pod
  readonly folder: string
  readonly slots: ReadonlyArray<PodStatus.Slot>
  readonly log: (container: string) => LogBuffer
  /** Done once no container may start any more. */
  readonly stopping: Deferred.Deferred<void>
  readonly running: Set<{ readonly process: LocalProcess.Running; readonly scope: Scope.Closeable }>
  readonly publish: Effect.Effect<void>
}

const fieldManager = "berth-pod-runner"

/**
 * Writes the Pod's status as it is when its turn comes. The UID in the patch makes the API server refuse it for another
 * Pod of the same name.
 */
const publisher = (
  host: Host,
  pod: Pod,
  slots: ReadonlyArray<PodStatus.Slot>,
  startedAtMs: number,
  verdict: () => PodStatus.Verdict | undefined
): Effect.Effect<void> => {
  const turn = Semaphore.makeUnsafe(1)
  let before: ReadonlyArray<Condition> = pod.status?.conditions ?? []
  return turn.withPermit(
    Effect.gen(function* () {
      const nowMs = yield* Clock.currentTimeMillis
      const status = PodStatus.status({ pod, slots, startedAtMs, nowMs, before, verdict: verdict() })
      before = status.conditions ?? []
      const patch = { metadata: { uid: pod.metadata.uid }, status }
      yield* host.client
        .patch(Pod, KubeObject.ref(pod), { type: "merge", patch }, { subresource: "status", fieldManager })
        .pipe(
          persistently,
          // A Pod that is gone has no status; anything else shows in the log only, as with a kubelet.
          Effect.catch((error) =>
            error._tag === "NotFound"
              ? Effect.void
              : Effect.logWarning("The Pod's status was not written", error.message)
          )
        )
    })
  )
}

const lookup =
  (client: Host["client"], namespace: string | undefined): Lookup<KubeError.KubeError> =>
  (kind, name) =>
    client.get(kind === "Secret" ? Secret : ConfigMap, { name, namespace }).pipe(
      Effect.map(({ binaryData = {}, data = {} }) => {
        const text = kind === "Secret" ? "base64" : "utf8"
        return new Map([
          ...Object.entries(data).map(([key, value]) => [key, Buffer.from(value, text)] as const),
          ...Object.entries(binaryData).map(([key, value]) => [key, Buffer.from(value, "base64")] as const)
        ])
      }),
      Effect.catchTag("NotFound", () => Effect.succeed(undefined))
    )

interface TokenRequest extends KubeObject.KubeObject {
  readonly spec: object
  readonly status?: { readonly token?: string }
}

/** A subresource that is created, spelled as a collection of its own: the path is the same. */
const tokenRequests = (account: string) =>
  ResourceType.make<TokenRequest>({
    group: "",
    version: "v1",
    kind: "TokenRequest",
    plural: `serviceaccounts/${account}/token`,
    scope: "Namespaced"
  })

const sources = (client: Host["client"], pod: Pod): PodVolumes.Sources<KubeError.KubeError> => ({
  lookup: lookup(client, pod.metadata.namespace),
  token: ({ audience, expirationSeconds }) => {
    const { namespace = "default" } = pod.metadata
    const spec = { audiences: audience === undefined ? [] : [audience], expirationSeconds }
    return Effect.map(
      client.create(tokenRequests(pod.spec.serviceAccountName ?? "default"), {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        metadata: { namespace },
        spec
      }),
      ({ status }) => status?.token ?? ""
    )
  }
})

const isStopping = ({ stopping }: Life) => Deferred.isDone(stopping)

const pause = (life: Life, duration: Duration.Duration) =>
  Effect.raceFirst(Effect.sleep(duration), Deferred.await(life.stopping))

/** Says why nothing goes on, and tries again until it does; undefined once the Pod is to end. */
const eventually = Effect.fnUntraced(function* <A>(
  life: Life,
  slots: ReadonlyArray<PodStatus.Slot>,
  reason: string,
  attempt: Effect.Effect<A, KubeError.KubeError | ConfigMissing>
): Effect.fn.Return<A | undefined> {
  while (!(yield* isStopping(life))) {
    const result = yield* Effect.result(attempt)
    if (result._tag === "Success") {
      return result.success
    }
    const waiting = { reason, message: result.failure.message }
    if (slots.some(({ state }) => state.waiting?.message !== waiting.message)) {
      slots.forEach((slot) => {
        slot.state = { waiting }
      })
      yield* life.publish
    }
    yield* pause(life, life.host.retryEvery)
  }
  return undefined
})

/** Runs the container once and says how it ended. */
const runOnce = Effect.fnUntraced(function* (
  life: Life,
  slot: PodStatus.Slot,
  prepared: Containers.Prepared
): Effect.fn.Return<ContainerState> {
  const log = life.log(slot.container.name)
  const scope = yield* Scope.make()
  return yield* Effect.gen(function* () {
    const startedAtMs = yield* Clock.currentTimeMillis
    const process = yield* Scope.provide(Containers.start(prepared, log), scope)
    const entry = { process, scope }
    life.running.add(entry)
    slot.state = { running: { startedAt: timestamp(startedAtMs) } }
    yield* life.publish
    const { code } = yield* process.ended
    life.running.delete(entry)
    const finishedAtMs = yield* Clock.currentTimeMillis
    const { container } = slot
    return {
      terminated: Containers.terminated({ container, prepared, exitCode: code, log, startedAtMs, finishedAtMs })
    }
  }).pipe(
    Effect.catchTag("NotStarted", ({ why }) =>
      Effect.map(Clock.currentTimeMillis, (atMs) => ({
        terminated: { exitCode: 128, reason: "StartError", message: why, finishedAt: timestamp(atMs) }
      }))
    ),
    Effect.onExit((exit) => Scope.close(scope, exit))
  )
})

const backoffMax = Duration.minutes(5)

const restarts = ({ pod }: Life, slot: PodStatus.Slot): boolean => {
  const policy = pod.spec.restartPolicy ?? "Always"
  const failed = slot.state.terminated?.exitCode !== 0
  return policy !== "Never" && (failed || (policy === "Always" && !slot.init))
}

/** Runs a container until its restart policy is content, or the Pod is to end. */
const runContainer = Effect.fnUntraced(function* (
  life: Life,
  slot: PodStatus.Slot,
  places: ReadonlyMap<string, string>
): Effect.fn.Return<void> {
  const { host, pod } = life
  const folder = join(life.folder, "containers", slot.container.name)
  mkdirSync(folder, { recursive: true })
  for (;;) {
    const { container } = slot
    const attempt = Containers.prepare({
      machine: host.machine,
      pod,
      container,
      places,
      folder: join(folder, String(slot.restartCount)),
      lookup: lookup(host.client, pod.metadata.namespace)
    })
    const prepared = yield* eventually(life, [slot], "CreateContainerConfigError", attempt)
    if (prepared === undefined || (yield* isStopping(life))) {
      return
    }
    slot.state = yield* runOnce(life, slot, prepared)
    if (yield* isStopping(life)) {
      // The Pod's last status tells of all containers at once, and why they ended.
      return
    }
    yield* life.publish
    if (!restarts(life, slot)) {
      return
    }
    const delay = Duration.min(Duration.times(host.restartBackoff, 2 ** slot.restartCount), backoffMax)
    slot.lastState = slot.state
    slot.state = { waiting: { reason: "CrashLoopBackOff", message: `back-off ${Duration.format(delay)} restarting` } }
    slot.restartCount += 1
    yield* life.publish
    yield* pause(life, delay)
  }
})

const runAll = Effect.fnUntraced(function* (life: Life): Effect.fn.Return<void> {
  const { host, pod, slots } = life
  const materialise = PodVolumes.materialise(pod, join(life.folder, "volumes"), sources(host.client, pod))
  const places = yield* eventually(life, slots, "ContainerCreating", materialise)
  if (places === undefined) {
    return
  }
  for (const slot of slots.filter(({ init }) => init)) {
    yield* runContainer(life, slot, places)
    if (slot.state.terminated?.exitCode !== 0) {
      return
    }
  }
  const main = slots.filter(({ init }) => !init)
  yield* Effect.forEach(main, (slot) => runContainer(life, slot, places), { concurrency: "unbounded", discard: true })
})

/** Asks every container to end, and makes those end that have not within the grace period. */
const endWithin = Effect.fnUntraced(function* (
  life: Life,
  main: Fiber.Fiber<void>,
  graceSeconds: number
): Effect.fn.Return<void> {
  yield* Deferred.succeed(life.stopping, undefined)
  yield* Effect.forEach([...life.running], ({ process }) => process.signal("SIGTERM"))
  const inTime = yield* Effect.timeoutOption(Fiber.await(main), Duration.seconds(graceSeconds))
  if (Option.isNone(inTime)) {
    yield* Effect.forEach([...life.running], ({ scope }) => Scope.close(scope, Exit.void), { concurrency: "unbounded" })
    yield* Fiber.await(main)
  }
  const atMs = yield* Clock.currentTimeMillis
  life.slots
    .filter(({ state }) => state.terminated === undefined)
    .forEach((slot) => {
      slot.state = { terminated: PodStatus.unknown(atMs) }
    })
})

const deadline = (pod: Pod, startedAtMs: number) =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    pod.spec.activeDeadlineSeconds === undefined
      ? Effect.never
      : Effect.sleep(Duration.millis(Math.max(0, startedAtMs + pod.spec.activeDeadlineSeconds * 1_000 - nowMs)))
  )

const deadlineExceeded: PodStatus.Verdict = {
  phase: "Failed",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline"
}

const defaultGraceSeconds = 30

/** The API server keeps a Pod that has a node until its runner says, by this, that nothing of it runs any more. */
const release = (host: Host, pod: Pod) =>
  host.client
    .delete(Pod, KubeObject.ref(pod), {
      gracePeriodSeconds: 0,
      preconditions: pod.metadata.uid === undefined ? undefined : { uid: pod.metadata.uid }
    })
    .pipe(persistently, Effect.ignore)

/** Ends the life of a Pod within so many seconds; one that is over is only released, once. */
export const end = (host: Host, pod: Pod, stop: Stop, graceSeconds: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (!stop.over) {
      return Effect.asVoid(Deferred.succeed(stop.asked, graceSeconds))
    }
    const first = !stop.released
    stop.released = true
    return first ? release(host, pod) : Effect.void
  })

/** Waits for the end of the Pod by itself, by its deadline or by its deletion; says what its containers do not say. */
const untilEnd = Effect.fnUntraced(function* (
  life: Life,
  startedAtMs: number,
  stop: Stop
): Effect.fn.Return<PodStatus.Verdict | undefined, never, Scope.Scope> {
  const main = yield* Effect.forkScoped(runAll(life))
  const { pod } = life
  const [verdict, graceSeconds] = yield* Effect.raceAllFirst([
    Effect.as(Fiber.await(main), [undefined, undefined] as const),
    Effect.as(deadline(pod, startedAtMs), [
      deadlineExceeded,
      pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds
    ] as const),
    Effect.map(Deferred.await(stop.asked), (seconds) => [undefined, seconds] as const)
  ])
  if (graceSeconds !== undefined) {
    yield* endWithin(life, main, graceSeconds)
  }
  return verdict
})

const unsupported = (pod: Pod): PodStatus.Verdict | undefined => {
  const volume = PodVolumes.unsupported(pod)
  return volume === undefined
    ? undefined
    : {
        phase: "Failed",
        reason: "UnsupportedVolume",
        message: `volume ${volume} is of a sort that is not supported here`
      }
}

/** It holds the Pod's Secrets: gone with the Pod, not with the runner. */
const podFolder = (host: Host, pod: Pod) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = join(host.folder, pod.metadata.uid ?? pod.metadata.name)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )

/** Lives the life of a Pod, to its end or to the interruption of this effect, either of which ends its processes. */
export const live = Effect.fnUntraced(function* (
  host: Host,
  pod: Pod,
  log: (container: string) => LogBuffer,
  stop: Stop
): Effect.fn.Return<void, never, Scope.Scope> {
  const startedAtMs = yield* Clock.currentTimeMillis
  const slots = PodStatus.slots(pod)
  const folder = yield* podFolder(host, pod)
  const stopping = yield* Deferred.make<void>()
  let verdict = unsupported(pod)
  const publish = publisher(host, pod, slots, startedAtMs, () => verdict)
  yield* publish
  if (verdict === undefined) {
    const life = { host, pod, folder, slots, log, stopping, running: new Set(), publish } satisfies Life
    verdict = yield* untilEnd(life, startedAtMs, stop)
    yield* publish
  }
  stop.over = true
  if (yield* Deferred.isDone(stop.asked)) {
    yield* end(host, pod, stop, 0)
  }
})

/** Ends a Pod that another runner had begun: its processes ended with that one. */
export const lost = Effect.fnUntraced(function* (host: Host, pod: Pod): Effect.fn.Return<void> {
  const atMs = yield* Clock.currentTimeMillis
  const started = pod.status?.startTime
  const slots = PodStatus.slots(pod)
  const before = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
  slots.forEach((slot) => {
    const known = before.find(({ name }) => name === slot.container.name)
    slot.restartCount = known?.restartCount ?? 0
    slot.state = known?.state.terminated === undefined ? { terminated: PodStatus.unknown(atMs) } : known.state
  })
  yield* publisher(host, pod, slots, started === undefined ? atMs : Date.parse(started), () => undefined)
  if (pod.metadata.deletionTimestamp !== undefined) {
    yield* release(host, pod)
  }
})
