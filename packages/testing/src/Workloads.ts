/**
 * Deployments and StatefulSets that become ready when the test says so. Nothing runs: only their status is written, as their
 * controllers would.
 *
 * **Guarantees**
 * - T5: a new or changed workload is observed at once, and ready after the time that the test chose, or when it asks for it.
 * - T8: that time is the Effect clock's.
 *
 * **Caveats**
 * - There are no ReplicaSets and no Pods. Beside a real kube-controller-manager both would write: for the embedded cluster only.
 *
 * @since 0.1.0
 */
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import * as KubeObject from "@berth/kube/KubeObject"
import { Clock, Context, Duration, Effect, FiberMap, Layer, type Scope } from "effect"
import { follow } from "./internal/follow.ts"
import * as Rollout from "./internal/rollout.ts"

/**
 * @category models
 * @since 0.1.0
 */
export type Kind = "Deployment" | "StatefulSet"

/**
 * When a workload is ready, counted from its creation or change: after a time, or only when the test says so.
 *
 * @category models
 * @since 0.1.0
 */
export type ReadyAfter = Duration.Input | "manual"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** One rule for all, or one for each workload. Default: at once. */
  readonly readyAfter?: ReadyAfter | ((workload: KubeObject.KubeObject) => ReadyAfter) | undefined
}

/**
 * The workloads of a test's cluster.
 *
 * @category services
 * @since 0.1.0
 */
export class Workloads extends Context.Service<
  Workloads,
  {
    /** Makes a workload ready now, in the version that it has now. */
    readonly makeReady: (kind: Kind, ref: KubeObject.Ref) => Effect.Effect<void, KubeError.KubeError>
    /** Takes away all its ready replicas, until it is made ready or changed. */
    readonly makeUnready: (kind: Kind, ref: KubeObject.Ref) => Effect.Effect<void, KubeError.KubeError>
  }
>()("@berth/testing/Workloads") {}

const types = { Deployment: Rollout.Deployment, StatefulSet: Rollout.StatefulSet } as const

/** What was done about a workload last. */
interface Seen {
  generation: number
  /** The revision that was ready last. */
  ready: string | undefined
}

const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Workloads["Service"], never, Scope.Scope | Client.Client> {
  const client = yield* Client.Client
  const timers = yield* FiberMap.make<string>()
  const seen = new Map<string, Seen>()

  const write = Effect.fnUntraced(function* (workload: Rollout.Workload, progress: Rollout.Progress) {
    const { generation = 1, uid = "" } = workload.metadata
    const known = seen.get(uid)
    const revision = Rollout.revision(workload)
    seen.set(uid, { generation, ready: progress === "ready" ? revision : known?.ready })
    const nowMs = yield* Clock.currentTimeMillis
    const isRollout = workload.status !== undefined && known?.ready !== revision
    const status = Rollout.status(workload, progress, isRollout, nowMs)
    yield* client.patch(
      workload.kind === "StatefulSet" ? Rollout.StatefulSet : Rollout.Deployment,
      KubeObject.ref(workload),
      { type: "merge", patch: { metadata: { uid }, status } },
      { subresource: "status", fieldManager: "berth-workloads" }
    )
  })

  const get = (kind: Kind, ref: KubeObject.Ref) =>
    // Where one server leaves the kind of an object out, as in lists, another does not: it is known anyway.
    Effect.map(client.get(types[kind], ref), (workload) => ({ ...workload, kind }))

  const afterOf = (workload: Rollout.Workload): ReadyAfter => {
    const { readyAfter = 0 } = options
    return typeof readyAfter === "function" ? readyAfter(workload) : readyAfter
  }

  const rollOut = (kind: Kind, workload: Rollout.Workload) =>
    Effect.gen(function* () {
      const after = afterOf(workload)
      yield* write(workload, "updating")
      if (after !== "manual") {
        yield* Effect.sleep(after)
        // As it is now: the test may have changed its metadata meanwhile. A change of its spec begins anew.
        yield* Effect.flatMap(get(kind, KubeObject.ref(workload)), (now) => write(now, "ready"))
      }
    }).pipe(Effect.catch((error) => Effect.logDebug(error.message)))

  const observe = (kind: Kind) =>
    follow(types[kind], ({ _tag, object }) => {
      const { generation = 1, uid = "" } = object.metadata
      if (_tag === "Gone") {
        seen.delete(uid)
        return FiberMap.remove(timers, uid)
      }
      if ((seen.get(uid)?.generation ?? 0) >= generation) {
        return Effect.void
      }
      const { ready } = seen.get(uid) ?? { ready: undefined }
      seen.set(uid, { generation, ready })
      return Effect.asVoid(FiberMap.run(timers, uid, rollOut(kind, { ...object, kind })))
    })

  const become = (progress: Rollout.Progress) => (kind: Kind, ref: KubeObject.Ref) =>
    Effect.flatMap(get(kind, ref), (workload) => {
      const { generation = 1, uid = "" } = workload.metadata
      // From here on this version counts as seen, and its timer does not write against what the test says.
      seen.set(uid, { generation, ready: seen.get(uid)?.ready })
      return Effect.andThen(FiberMap.remove(timers, uid), write(workload, progress))
    })

  yield* Effect.forkScoped(observe("Deployment"))
  yield* Effect.forkScoped(observe("StatefulSet"))
  return { makeReady: become("ready"), makeUnready: become("unready") }
})

/**
 * Writes the status of the cluster's workloads for as long as the layer lives.
 *
 * **Example** (Everything takes ten minutes, except what the test makes ready itself)
 * ```ts
 * import * as Workloads from "@berth/testing/Workloads"
 *
 * export const workloads = Workloads.layer({
 *   readyAfter: ({ metadata }) => (metadata.name === "database" ? "manual" : "10 minutes")
 * })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<Workloads, never, Client.Client> =>
  Layer.effect(Workloads, make(options))
