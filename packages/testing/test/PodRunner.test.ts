import * as Client from "@berth/kube/Client"
import { assert, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Cluster from "../src/Cluster.ts"
import * as EmbeddedCluster from "../src/EmbeddedCluster.ts"
import * as LocalNode from "../src/internal/localNode.ts"
import { ConfigMap, Job, Pod } from "../src/internal/workloadTypes.ts"
import * as JobController from "../src/JobController.ts"
import * as PodRunner from "../src/PodRunner.ts"
import { create, hasPhase, namespace, shellPod, until, untilGone } from "./support/localCluster.ts"

/** Both ways of bringing volumes to their paths; the first only where this machine allows it. */
const ways = [
  { way: "as the machine allows", paths: undefined },
  { way: "with replaced paths", paths: "replaced" }
] as const

/** Tests that start processes do not count on a quiet machine. */
describe("PodRunner", { timeout: 30_000 }, () => {
  it.live.each(ways)(
    "T5: a script runs from a mounted Secret with its env and leaves its last words ($way)",
    ({ paths }) =>
      scenario(
        Effect.gen(function* () {
          yield* create.secret("s", {
            "script.sh":
              'echo "$GREETING, $USER_NAME"; cat "$BERTH_POD_ROOT/berth/data"; echo bye >"$BERTH_POD_ROOT/dev/termination-log"; exit 7',
            data: "from the Secret\n",
            user: "ada"
          })
          yield* create.pod(
            shellPod("p", "", {
              container: {
                command: ["/bin/sh", "$(SCRIPT)"],
                volumeMounts: [{ name: "v", mountPath: "/berth" }],
                env: [
                  { name: "WORD", value: "Good day" },
                  { name: "GREETING", value: "$(WORD) $$(WORD) $(NOBODY)" },
                  { name: "USER_NAME", valueFrom: { secretKeyRef: { name: "s", key: "user" } } },
                  { name: "SCRIPT", value: "/berth/script.sh" }
                ]
              },
              spec: { volumes: [{ name: "v", secret: { secretName: "s", defaultMode: 0o400 } }] }
            })
          )

          const [state] = states(yield* until(Pod, p, hasPhase("Failed")))

          assert.deepInclude({ ...state?.terminated }, { exitCode: 7, reason: "Error", message: "bye\n" })
          assert.strictEqual(yield* logs(), "Good day $(WORD) $(NOBODY), ada\nfrom the Secret\n")
        }),
        { paths }
      )
  )

  it.live(
    "T5: where the machine lets the program make mount namespaces, every path is exact and nothing is left in it",
    () =>
      scenario(
        Effect.gen(function* () {
          const { paths } = yield* PodRunner.PodRunner
          yield* create.secret("s", { key: "value" })
          const script = "cat /etc/of-pod/key; pwd; touch /tmp/of-pod /of-pod; echo bye >/dev/termination-log"
          if (paths === "exact") {
            yield* create.pod(
              shellPod("p", script, {
                container: { volumeMounts: [{ name: "v", mountPath: "/etc/of-pod" }], workingDir: "/work-of-pod" },
                spec: { volumes: [{ name: "v", secret: { secretName: "s" } }] }
              })
            )
            const [state] = states(yield* until(Pod, p, hasPhase("Succeeded")))
            assert.strictEqual(state?.terminated?.message, "bye\n")
            assert.strictEqual(yield* logs(), "value/work-of-pod\n")
          }

          assert.strictEqual(paths, mayUnshare() ? "exact" : "replaced")
          for (const path of ["/etc/of-pod", "/of-pod", "/tmp/of-pod", "/work-of-pod", "/dev/termination-log"]) {
            assert.isFalse(existsSync(path), path)
          }
        }),
        // Without folders under /tmp, where this checkout may be: with them a Pod has no /tmp of its own.
        { env: { PATH: "/usr/bin:/bin" } }
      )
  )

  it.live.each(ways)("T5: volumes of every sort are files with their modes ($way)", ({ paths }) =>
    scenario(
      Effect.gen(function* () {
        const client = yield* Client.Client
        yield* create.secret("s", { a: "A", b: "B" })
        yield* client.create(ConfigMap, { metadata: { namespace, name: "c" }, data: { x: "X" } })
        yield* create.pod(
          shellPod(
            "p",
            "cd /v/secret && cat one; stat -c %a one; ls; cat /v/config/x /v/all/x /v/all/b /v/all/name /v/one; echo shared >/v/empty/f",
            {
              container: {
                volumeMounts: [
                  { name: "secret", mountPath: "/v/secret" },
                  { name: "config", mountPath: "/v/config" },
                  { name: "all", mountPath: "/v/all" },
                  { name: "secret", mountPath: "/v/one", subPath: "one" },
                  { name: "empty", mountPath: "/v/empty" }
                ]
              },
              spec: {
                volumes: [
                  { name: "secret", secret: { secretName: "s", items: [{ key: "a", path: "one", mode: 0o440 }] } },
                  { name: "config", configMap: { name: "c" } },
                  { name: "empty", emptyDir: {} },
                  {
                    name: "all",
                    projected: {
                      sources: [
                        { configMap: { name: "c" } },
                        { secret: { name: "s", items: [{ key: "b", path: "b" }] } },
                        { secret: { name: "absent", optional: true } },
                        { downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } }
                      ]
                    }
                  }
                ]
              }
            }
          )
        )

        yield* until(Pod, p, hasPhase("Succeeded"))

        assert.strictEqual(yield* logs(), "A440\none\nXXBpA")
      }),
      { paths }
    )
  )

  it.live("T5: a Pod waits for a Secret that is missing, says so, and goes on once it is there", () =>
    scenario(
      Effect.gen(function* () {
        const secretKeyRef = { name: "late", key: "k" }
        const optional = { name: "never", key: "k", optional: true }
        const env = [
          { name: "V", valueFrom: { secretKeyRef } },
          { name: "W", valueFrom: { secretKeyRef: optional } }
        ]
        yield* create.pod(shellPod("p", 'echo "$V${W-unset}"', { container: { env } }))
        const waiting = yield* until(Pod, p, (pod) => states(pod)[0]?.waiting?.reason === "CreateContainerConfigError")
        yield* create.secret("late", { k: "now" })

        yield* until(Pod, p, hasPhase("Succeeded"))

        assert.strictEqual(waiting.status?.phase, "Pending")
        assert.strictEqual(states(waiting)[0]?.waiting?.message, 'secret "late" not found')
        assert.strictEqual(yield* logs(), "nowunset\n")
      })
    )
  )

  it.live("T5: init containers run before the others, in order, and one that fails fails the Pod", () =>
    scenario(
      Effect.gen(function* () {
        const step = (name: string, script: string) => ({
          name,
          image: "tool",
          command: ["sh", "-c", script],
          volumeMounts: [{ name: "work", mountPath: "/work-of-pod" }]
        })
        const spec = (last: string) => ({
          volumes: [{ name: "work", emptyDir: {} }],
          initContainers: [step("one", "echo 1 >>/work-of-pod/f"), step("two", `echo 2 >>/work-of-pod/f; ${last}`)]
        })
        const container = { volumeMounts: [{ name: "work", mountPath: "/work-of-pod" }] }
        yield* create.pod(shellPod("p", "cat /work-of-pod/f", { container, spec: spec("true") }))
        yield* create.pod(shellPod("q", "cat /work-of-pod/f", { container, spec: spec("exit 3") }))

        yield* until(Pod, p, hasPhase("Succeeded"))
        const failed = yield* until(Pod, { namespace, name: "q" }, hasPhase("Failed"))

        assert.strictEqual(yield* logs(), "1\n2\n")
        assert.strictEqual(failed.status?.initContainerStatuses?.[1]?.state.terminated?.exitCode, 3)
        assert.isDefined(states(failed)[0]?.waiting)
      })
    )
  )

  it.live("T5: the last words are the end of the log where that is asked for, and never too long", () =>
    scenario(
      Effect.gen(function* () {
        const container = { terminationMessagePolicy: "FallbackToLogsOnError" as const }
        yield* create.pod(shellPod("p", "seq 1 200; exit 1", { container }))
        yield* create.pod(shellPod("q", 'head -c 5000 /dev/zero | tr "\\0" x >"$BERTH_POD_ROOT/dev/termination-log"'))

        const [fromLog] = states(yield* until(Pod, p, hasPhase("Failed")))
        const [long] = states(yield* until(Pod, { namespace, name: "q" }, hasPhase("Succeeded")))

        assert.strictEqual(fromLog?.terminated?.message, lines(121, 200))
        assert.strictEqual(long?.terminated?.message, "x".repeat(4_096))
      })
    )
  )

  it.live("T5: a program that does not exist is a StartError, and an image can bring its own programs", () =>
    scenario(
      Effect.gen(function* () {
        yield* create.pod(shellPod("p", "", { container: { command: ["no-such-program"] } }))
        yield* create.pod(
          shellPod("q", "", { container: { image: "example.com/shell:1", command: [], args: ["-c", "echo $FLAVOUR"] } })
        )

        const [state] = states(yield* until(Pod, p, hasPhase("Failed")))
        yield* until(Pod, { namespace, name: "q" }, hasPhase("Succeeded"))

        assert.deepInclude({ ...state?.terminated }, { exitCode: 128, reason: "StartError" })
        assert.strictEqual(yield* logs("q"), "dry\n")
      }),
      { images: [{ match: /^example\.com\/shell:/u, command: ["sh"], env: { FLAVOUR: "dry" } }] }
    )
  )

  it.live(
    "T5: a deleted Pod's process is asked to end, its Pod goes when it has, and what it left behind ends too",
    () =>
      scenario(
        Effect.gen(function* () {
          const client = yield* Client.Client
          yield* create.pod(shellPod("p", `${nap} & trap 'echo asked; exit 0' TERM; echo ready; wait; wait`))
          yield* until(Pod, p, hasPhase("Running"))
          yield* untilLog("ready\n")
          yield* untilTrue(() => processes(nap).length === 1)

          const stream = yield* logStream
          yield* client.delete(Pod, p)
          yield* untilGone(Pod, p)

          assert.strictEqual(yield* Fiber.join(stream), "ready\nasked\n")
          assert.lengthOf(processes(nap), 0)
        })
      )
  )

  it.effect("T5, T8: a process that will not end is ended when its grace period is over", () =>
    scenario(
      Effect.gen(function* () {
        const client = yield* Client.Client
        yield* create.pod(
          shellPod("p", "trap '' TERM; echo ready; while true; do sleep 0.05; done", {
            spec: { terminationGracePeriodSeconds: 3_600 }
          })
        )
        yield* untilLog("ready\n")
        yield* client.delete(Pod, p)
        yield* until(Pod, p, ({ metadata }) => metadata.deletionTimestamp !== undefined)

        const last = yield* Effect.forkChild(until(Pod, p, hasPhase("Failed")))

        yield* TestClock.adjust("3599 seconds")
        const early = yield* client.get(Pod, p)
        yield* TestClock.adjust("1 second")

        yield* untilGone(Pod, p)
        const [state] = states(yield* Fiber.join(last))
        assert.isDefined(states(early)[0]?.running)
        assert.deepInclude({ ...state?.terminated }, { exitCode: 137, reason: "Error" })
      })
    )
  )

  it.effect("T5, T8: at its deadline a Pod fails, whatever its containers do", () =>
    scenario(
      Effect.gen(function* () {
        yield* create.pod(shellPod("p", nap, { spec: { activeDeadlineSeconds: 86_400 } }))
        yield* until(Pod, p, hasPhase("Running"))

        yield* TestClock.adjust("24 hours")

        const { status } = yield* until(Pod, p, hasPhase("Failed"))
        assert.strictEqual(status?.reason, "DeadlineExceeded")
        assert.strictEqual(status?.containerStatuses?.[0]?.state.terminated?.exitCode, 143)
      })
    )
  )

  it.effect("T5, T8: under OnFailure a container is started again after a pause that doubles", () =>
    scenario(
      Effect.gen(function* () {
        const container = { volumeMounts: [{ name: "v", mountPath: "/state-of-pod" }] }
        const spec = { restartPolicy: "OnFailure" as const, volumes: [{ name: "v", emptyDir: {} }] }
        yield* create.pod(
          shellPod("p", "echo x >>/state-of-pod/f; test $(wc -l </state-of-pod/f) = 3", { container, spec })
        )

        const crashed = yield* until(Pod, p, isBackingOff(1))
        yield* TestClock.adjust("10 seconds")
        const again = yield* until(Pod, p, isBackingOff(2))
        yield* TestClock.adjust("20 seconds")

        const done = yield* until(Pod, p, hasPhase("Succeeded"))
        assert.include(states(crashed)[0]?.waiting?.message, "10s")
        assert.include(states(again)[0]?.waiting?.message, "20s")
        assert.strictEqual(crashed.status?.containerStatuses?.[0]?.lastState.terminated?.exitCode, 1)
        assert.strictEqual(done.status?.containerStatuses?.[0]?.restartCount, 2)
      })
    )
  )

  it.live("T5: a Job's script runs, and a Pod that another runner had begun is lost", () =>
    Effect.gen(function* () {
      yield* scenario(
        Effect.gen(function* () {
          yield* create.job("a", { backoffLimit: 0 })
          yield* until(Job, { namespace, name: "a" }, ({ status }) => status?.succeeded === 1)
        }),
        {},
        JobController.layer
      )
      yield* Effect.gen(function* () {
        const client = yield* Client.Client
        const pod = yield* create.pod(shellPod("p", "echo never"))
        yield* LocalNode.bind(client, pod, "berth")
        const begun = { phase: "Running", startTime: "2026-01-01T00:00:00Z" }
        yield* client.patch(Pod, p, { type: "merge", patch: { status: begun } }, { subresource: "status" })
        const lost = yield* Effect.provide(until(Pod, p, hasPhase("Failed")), PodRunner.layer())
        assert.deepInclude({ ...states(lost)[0]?.terminated }, { exitCode: 137, reason: "ContainerStatusUnknown" })
      }).pipe(Effect.provide(Cluster.embeddedWithClient()))
    })
  )

  it.live("T5: the embedded cluster serves the logs", () =>
    scenario(
      Effect.gen(function* () {
        const { url } = yield* EmbeddedCluster.EmbeddedCluster
        yield* create.pod(shellPod("p", "echo out; echo err >&2; echo out again"))
        yield* until(Pod, p, hasPhase("Succeeded"))

        const text = yield* Effect.promise(() =>
          fetch(`${url}/api/v1/namespaces/default/pods/p/log`).then((it) => it.text())
        )

        assert.strictEqual(text, "out\nerr\nout again\n")
        assert.strictEqual(yield* logs("p", { tailLines: 1 }), "out again\n")
      })
    )
  )

  it.live("T11: processes and files are gone after success, failure and interruption", () =>
    Effect.gen(function* () {
      const running = Effect.gen(function* () {
        yield* create.pod(shellPod("p", `${nap} & ${nap}; echo`))
        yield* until(Pod, p, hasPhase("Running"))
        yield* untilTrue(() => processes(nap).length === 2)
        return folders(process.pid).length
      })
      const seen = yield* scenario(running)
      const failure = yield* Effect.flip(scenario(Effect.andThen(running, Effect.fail("on purpose"))))
      const begun = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        scenario(Effect.andThen(running, Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)))
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)

      assert.deepStrictEqual([seen, failure], [1, "on purpose"])
      assert.lengthOf(processes(nap), 0)
      assert.lengthOf(folders(process.pid), 0)
    })
  )

  it.live("T11: a program that is killed leaves no process and no Secret on the disk", () =>
    Effect.gen(function* () {
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, ["--conditions=@berth/source", "--input-type=module", "-e", program], {
            cwd: new URL("..", import.meta.url),
            stdio: ["ignore", "pipe", "inherit"]
          })
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      yield* Effect.callback<void>((resume) => void child.stdout.once("data", () => resume(Effect.void)))
      yield* untilTrue(() => processes(nap).length === 1)
      const [folder = ""] = folders(child.pid)
      yield* Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })

      yield* untilTrue(() => processes(nap).length === 0)
      yield* untilTrue(() => !existsSync(folder))
      assert.include(folder, "berth-pods-")
    }).pipe(Effect.scoped)
  )
})

const p = { namespace, name: "p" }

/** Long, and told from what other programs of this machine run. */
const nap = `sleep ${1_000_000 + process.pid}`

type Services = Client.Client | PodRunner.PodRunner | EmbeddedCluster.EmbeddedCluster

const scenario = <A, E>(
  test: Effect.Effect<A, E, Services>,
  options: PodRunner.Options = {},
  more: Layer.Layer<never, never, Client.Client> = Layer.empty
) => {
  const runner = PodRunner.layer({ retryEvery: "20 millis", ...options })
  return Effect.provide(test, Layer.merge(runner, more).pipe(Layer.provideMerge(Cluster.embeddedWithClient())), {
    local: true
  })
}

const states = ({ status }: Pod) => (status?.containerStatuses ?? []).map(({ state }) => state)

const logs = (name = "p", options: PodRunner.LogOptions = {}) =>
  PodRunner.PodRunner.use((runner) => runner.logs({ namespace, name }, options))

const untilLog = (text: string): Effect.Effect<void, never, PodRunner.PodRunner> =>
  Effect.gen(function* () {
    const found = yield* Effect.orElseSucceed(logs(), () => "")
    if (found !== text) {
      yield* turn
      yield* untilLog(text)
    }
  })

/** All that a Pod prints from now on. */
const logStream = Effect.gen(function* () {
  const runner = yield* PodRunner.PodRunner
  const stream = runner.logStream(namespace, "p", { follow: true }) ?? Stream.empty
  return yield* Effect.forkChild(Stream.mkString(stream))
})

const isBackingOff =
  (times: number) =>
  ({ status }: Pod): boolean => {
    const container = status?.containerStatuses?.[0]
    return container?.restartCount === times && container.state.waiting?.reason === "CrashLoopBackOff"
  }

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join("")

/** Asked of the machine itself, not of the code under test. */
const mayUnshare = (): boolean =>
  [["--mount"], ["--user", "--map-root-user", "--mount"]].some(
    (flags) => spawnSync("unshare", [...flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0
  )

/** A turn of the event loop, in real time under either clock. */
const turn = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))

const untilTrue = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (condition() ? Effect.void : Effect.andThen(turn, untilTrue(condition))))

/** Processes of this machine that were started with these words, and are not waiting to be buried. */
const processes = (words: string): ReadonlyArray<string> =>
  readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/u.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim() === words
    } catch {
      // It ended while the list was read.
      return false
    }
  })

/** Folders of runners that a program started, known by their janitors. */
const folders = (parent: number | undefined): ReadonlyArray<string> =>
  readdirSync("/proc").flatMap((name) => {
    try {
      const [, , , , path = ""] = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0")
      const stat = readFileSync(`/proc/${name}/stat`, "utf8")
      const owner = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
      return path.includes("/berth-pods-") && owner === parent && existsSync(path) ? [path] : []
    } catch {
      return []
    }
  })

const source = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

const program = `
  import * as Client from "@berth/kube/Client"
  import * as Cluster from ${source("../src/Cluster.ts")}
  import * as PodRunner from ${source("../src/PodRunner.ts")}
  import { create, hasPhase, shellPod, until } from ${source("./support/localCluster.ts")}
  import { Pod } from ${source("../src/internal/workloadTypes.ts")}
  import { Effect, Layer } from "effect"
  Effect.runFork(Effect.gen(function* () {
    yield* create.secret("s", { key: "hidden" })
    const volumes = [{ name: "v", secret: { secretName: "s" } }]
    yield* create.pod(shellPod("p", ${JSON.stringify(`${nap}; echo`)}, { spec: { volumes } }))
    yield* until(Pod, { namespace: "default", name: "p" }, hasPhase("Running"))
    console.log("running")
    yield* Effect.never
  }).pipe(Effect.provide(PodRunner.layer().pipe(Layer.provideMerge(Cluster.embeddedWithClient())))))
`
