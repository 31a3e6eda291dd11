/**
 * Runs Pods as processes of this machine: what a kubelet is to a cluster, this is to a test. It is a client of the
 * Kubernetes API like any other, so that it serves the embedded cluster as well as a real API server without nodes.
 *
 * **Guarantees**
 * - T5: containers get their command, arguments, environment, Secrets, ConfigMaps and volumes; their exit codes,
 *   termination messages, deadlines and logs are reported as a kubelet reports them.
 * - T8: deadlines, grace periods and pauses between restarts follow the Effect clock.
 * - T11: when the scope closes, or when the whole program is killed, the processes and files of all Pods are gone.
 *
 * **Details**
 * - Volumes are at their mount paths. Where this machine lets the program make mount namespaces (root, or unprivileged
 *   user namespaces), they are there exactly, with a private `/tmp`, and `/dev` as in a container. Elsewhere the declared
 *   mount paths are replaced by real ones in command, arguments and literal values of variables; a script that names a mount
 *   path in its own text writes `"$BERTH_POD_ROOT/path"`, which is right everywhere since the variable is empty (or not set, on
 *   a real cluster) where paths are exact. `BERTH_POD_ROOT/dev/termination-log` is the termination log then.
 * - Images are not pulled: the programs of this machine run. `images` says where an image's programs are.
 * - A Pod that another runner was running when it ended is Failed (`ContainerStatusUnknown`, 137) unless it may be restarted,
 *   as after the reboot of a node.
 * - Unlike a process of a container, one here is not the first of its system: a signal that it does not handle ends it.
 *
 * **Caveats**
 * - No isolation: a process here has the rights of the program and sees its network and files. Run nothing untrusted.
 * - Not there: probes (a running container is ready), resources, security contexts (user, read-only mounts), hooks, native
 *   sidecars, persistent volumes, `resourceFieldRef`, `subPathExpr`, later changes of a mounted Secret, ports of Services.
 * - In a user namespace a process takes itself for root.
 * - A process that leaves its process group and session outlives its container.
 *
 * @since 0.1.0
 */
import * as Client from "@berth/kube/Client"
import * as KubeObject from "@berth/kube/KubeObject"
import { Context, Data, Deferred, Duration, Effect, FiberMap, Layer, Option, Queue, type Scope, Stream } from "effect"
import { EmbeddedCluster } from "./EmbeddedCluster.ts"
import { follow } from "./internal/follow.ts"
import * as LocalNode from "./internal/localNode.ts"
import * as Logs from "./internal/logBuffer.ts"
import { mountNamespace } from "./internal/machine.ts"
import * as PodLife from "./internal/podLife.ts"
import * as LocalProcess from "./internal/process.ts"
import { Pod } from "./internal/workloadTypes.ts"

/**
 * The programs that stand for an image.
 *
 * @category models
 * @since 0.1.0
 */
export interface Image {
  /** The whole name of the image as the Pod has it, or a pattern. The first image that matches counts. */
  readonly match: string | RegExp
  /** Folders that are searched for programs before those of this machine. */
  readonly path?: ReadonlyArray<string> | undefined
  /** Variables that the image would set. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** What runs where the container names no command. */
  readonly command?: ReadonlyArray<string> | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Default: every image is this machine with its PATH. */
  readonly images?: ReadonlyArray<Image> | undefined
  /** Variables of every container. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /**
   * How volumes get to their paths: `exact` in a mount namespace, `replaced` in the Pod's texts. Default: exact where this
   * machine allows it.
   */
  readonly paths?: "exact" | "replaced" | undefined
  /** The name of the node that Pods are bound to. Default `berth`. */
  readonly node?: string | undefined
  /** Only these Pods, of those that are on no node yet. Default: all. */
  readonly select?: ((pod: KubeObject.KubeObject) => boolean) | undefined
  /** The pause before the first restart of a container; it doubles up to five minutes. Default 10 s. */
  readonly restartBackoff?: Duration.Input | undefined
  /** How often a missing Secret or ConfigMap is looked for. Default 500 ms. */
  readonly retryEvery?: Duration.Input | undefined
  /** What is kept of one container's output. Default 1 MiB. */
  readonly logBytesMax?: number | undefined
}

/**
 * `paths: "exact"` was asked for on a machine that lets this program make no mount namespace.
 *
 * @category errors
 * @since 0.1.0
 */
export class PathsNotExact extends Data.TaggedError("PathsNotExact")<{}> {
  override get message() {
    return "This machine lets the program make no mount namespace: run as root, allow unprivileged user namespaces, or leave `paths` out."
  }
}

/**
 * No container of this name has run in the Pod.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoSuchLog extends Data.TaggedError("NoSuchLog")<{
  readonly pod: string
  readonly container: string | undefined
}> {
  override get message() {
    return `${this.pod}: no log${this.container === undefined ? "" : ` of the container ${this.container}`}`
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface LogOptions {
  /** Default: the Pod's first container. */
  readonly container?: string | undefined
  readonly tailLines?: number | undefined
  readonly limitBytes?: number | undefined
}

/**
 * The runner of a program's Pods.
 *
 * @category services
 * @since 0.1.0
 */
export class PodRunner extends Context.Service<
  PodRunner,
  {
    /** What a container printed, on both streams, in order: kept until the Pod is deleted. */
    readonly logs: (ref: KubeObject.Ref, options?: LogOptions) => Effect.Effect<string, NoSuchLog>
    /** The same as a stream, which goes on as the container does where `follow` is asked for; undefined for an unknown Pod. */
    readonly logStream: (
      namespace: string,
      pod: string,
      options: LogOptions & { readonly follow: boolean }
    ) => Stream.Stream<string> | undefined
    /** Whether volumes are at their exact paths. */
    readonly paths: "exact" | "replaced"
  }
>()("@berth/testing/PodRunner") {}

interface Known {
  readonly pod: Pod
  readonly stop: PodLife.Stop
  /** By container, in the Pod's order. */
  readonly logs: Map<string, Logs.LogBuffer>
}

const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed"

/** Whether a runner was already at work on it: this one has no memory of that. */
const wasBegun = ({ status }: Pod): boolean => status?.startTime !== undefined

const machineOf = Effect.fnUntraced(function* (options: Options) {
  const unshare = options.paths === "replaced" ? undefined : yield* mountNamespace
  if (unshare === undefined && options.paths === "exact") {
    return yield* new PathsNotExact()
  }
  return { unshare, images: options.images ?? [], env: options.env ?? {} }
})

const logOf = (known: Known | undefined, container: string | undefined): Logs.LogBuffer | undefined =>
  known?.logs.get(container ?? known.pod.spec.containers[0]?.name ?? "")

const logStream = (log: Logs.LogBuffer, now: () => string, follow: boolean): Stream.Stream<string> =>
  follow
    ? Stream.callback<string>((queue) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            Queue.offerUnsafe(queue, now())
            return log.follow(
              (text) => void Queue.offerUnsafe(queue, text),
              () => void Queue.endUnsafe(queue)
            )
          }),
          (stop) => Effect.sync(stop)
        )
      )
    : Stream.sync(now)

/** Starts, stops and forgets Pods as the API server tells of them. */
const conduct = Effect.fnUntraced(function* (
  host: PodLife.Host,
  node: string,
  options: Options,
  known: Map<string, Known>
): Effect.fn.Return<never, never, Scope.Scope | Client.Client> {
  const fibers = yield* FiberMap.make<string>()

  const begin = Effect.fnUntraced(function* (pod: Pod, uid: string) {
    const logs = new Map<string, Logs.LogBuffer>()
    const stop: PodLife.Stop = { asked: yield* Deferred.make<number>(), over: false, released: false }
    known.set(uid, { pod, stop, logs })
    const log = (container: string): Logs.LogBuffer => {
      const buffer = logs.get(container) ?? Logs.make(options.logBytesMax ?? 1_048_576)
      logs.set(container, buffer)
      return buffer
    }
    const life = Effect.scoped(PodLife.live(host, pod, log, stop)).pipe(
      Effect.ensuring(Effect.sync(() => logs.forEach(({ end }) => end())))
    )
    yield* FiberMap.run(fibers, uid, life)
  })

  const take = Effect.fnUntraced(function* (pod: Pod, uid: string) {
    if (pod.spec.nodeName === undefined && pod.metadata.deletionTimestamp === undefined) {
      if (options.select?.(pod) ?? true) {
        // Bound, it comes again. A Conflict: somebody else was faster.
        yield* Effect.catch(LocalNode.bind(host.client, pod, node), (error) => Effect.logDebug(error.message))
      }
    } else if (pod.spec.nodeName === node && !isFinished(pod)) {
      if (wasBegun(pod) && (pod.spec.restartPolicy ?? "Always") === "Never") {
        yield* PodLife.lost(host, pod)
      } else {
        yield* begin(pod, uid)
      }
    }
  })

  const stop = (uid: string, graceSeconds: number) => {
    const entry = known.get(uid)
    return entry === undefined ? Effect.void : PodLife.end(host, entry.pod, entry.stop, graceSeconds)
  }

  return yield* follow(Pod, ({ _tag, object: pod }) => {
    const uid = pod.metadata.uid ?? KubeObject.key(KubeObject.ref(pod))
    if (_tag === "Gone") {
      // Deleted by force: nobody waits for its processes, but they get what they were promised.
      const grace = pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30
      return Effect.andThen(
        stop(uid, grace),
        Effect.sync(() => known.delete(uid))
      )
    }
    return Effect.andThen(
      known.has(uid) ? Effect.void : take(pod, uid),
      pod.metadata.deletionTimestamp === undefined
        ? Effect.void
        : stop(uid, pod.metadata.deletionGracePeriodSeconds ?? 30)
    )
  })
})

const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<PodRunner["Service"], PathsNotExact, Scope.Scope | Client.Client> {
  const client = yield* Client.Client
  const machine = yield* machineOf(options)
  const folder = yield* LocalProcess.temporaryFolder("berth-pods")
  const node = options.node ?? "berth"
  const known = new Map<string, Known>()
  const host: PodLife.Host = {
    client,
    machine,
    folder,
    restartBackoff: Duration.fromInputUnsafe(options.restartBackoff ?? "10 seconds"),
    retryEvery: Duration.fromInputUnsafe(options.retryEvery ?? "500 millis")
  }
  yield* LocalNode.register(client, node)
  yield* Effect.forkScoped(conduct(host, node, options, known))

  const find = ({ name, namespace }: KubeObject.Ref): Known | undefined =>
    [...known.values()].findLast(
      ({ pod: { metadata } }) => metadata.name === name && (namespace === undefined || metadata.namespace === namespace)
    )
  const runner: PodRunner["Service"] = {
    paths: machine.unshare === undefined ? "replaced" : "exact",
    logs: (ref, { container, limitBytes, tailLines } = {}) =>
      Effect.map(
        Effect.fromOption(Option.fromUndefinedOr(logOf(find(ref), container))).pipe(
          Effect.mapError(() => new NoSuchLog({ pod: KubeObject.key(ref), container }))
        ),
        (log) => Logs.tail(log.text(), tailLines, limitBytes)
      ),
    logStream: (namespace, name, { container, follow, limitBytes, tailLines }) => {
      const log = logOf(find({ namespace, name }), container)
      return log === undefined ? undefined : logStream(log, () => Logs.tail(log.text(), tailLines, limitBytes), follow)
    }
  }
  const embedded = yield* Effect.serviceOption(EmbeddedCluster)
  if (Option.isSome(embedded)) {
    yield* embedded.value.registerLogs(runner.logStream)
  }
  return runner
})

/**
 * Runs the cluster's Pods for as long as the layer lives. Where the context has an `EmbeddedCluster`, it serves their logs.
 *
 * **Errors**: `PathsNotExact`, only where `paths: "exact"` was asked for.
 *
 * **Example** (The image of a tool stands for a folder of the checkout)
 * ```ts
 * import * as PodRunner from "@berth/testing/PodRunner"
 *
 * export const runner = PodRunner.layer({
 *   images: [{ match: /^example\.com\/tool:/, path: ["/opt/tool/bin"] }]
 * })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<PodRunner, PathsNotExact, Client.Client> =>
  Layer.effect(PodRunner, make(options))
