import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as Cluster from "../src/Cluster.ts"
import * as EmbeddedCluster from "../src/EmbeddedCluster.ts"

/** What a test does that was written for any cluster. */
const anyCluster = Effect.gen(function* () {
  const client = yield* Client
  const ref = { name: "a", namespace: "default" }
  const made = yield* client.create(Builtin.ConfigMap, { metadata: ref, data: { x: "1" } })
  const { resourceVersion } = made.metadata
  const events = client.watch(Builtin.ConfigMap, { namespace: "default", resourceVersion })
  const told = yield* Effect.forkChild(events.pipe(Stream.take(2), Stream.runCollect))
  const read = yield* client.get(Builtin.ConfigMap, ref)
  yield* client.patch(Builtin.ConfigMap, ref, { type: "merge", patch: { data: { x: "2" } } })
  const applied = yield* client.apply(
    Builtin.ConfigMap,
    { metadata: ref, data: { x: "3" } },
    { fieldManager: "other", force: true }
  )
  const again = yield* Effect.flip(client.create(Builtin.ConfigMap, { metadata: ref }))
  const { items } = yield* client.list(Builtin.ConfigMap, { namespace: "default", pageSize: 1 })
  yield* client.delete(Builtin.ConfigMap, ref)
  const gone = yield* Effect.flip(client.get(Builtin.ConfigMap, ref))
  return {
    isSame: JSON.stringify(read) === JSON.stringify(made),
    data: applied.data,
    listed: items.map(({ metadata }) => metadata.name),
    events: (yield* Fiber.join(told)).map(({ _tag }) => _tag),
    failures: [again._tag, gone._tag]
  }
})

const expected = {
  isSame: true,
  data: { x: "3" },
  listed: ["a", "kube-root-ca.crt"],
  events: ["Modified", "Modified"],
  failures: ["AlreadyExists", "NotFound"]
}

describe("Cluster", () => {
  it.effect("T1, T2: one test runs on an embedded cluster and on an existing one", () =>
    Effect.gen(function* () {
      const onEmbedded = yield* anyCluster

      const { kind, kubeconfigFile } = yield* Cluster.Cluster
      const kubeconfig = yield* kubeconfigFile
      const existing = Layer.provideMerge(Cluster.client, Cluster.existing({ kubeconfig }))
      const [kindThere, onExisting] = yield* Effect.gen(function* () {
        return [(yield* Cluster.Cluster).kind, yield* anyCluster] as const
      }).pipe(Effect.provide(existing))

      assert.deepStrictEqual([kind, kindThere], ["embedded", "existing"])
      assert.deepStrictEqual<ReadonlyArray<unknown>>([onEmbedded, onExisting], [expected, expected])
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("T1: an existing cluster is reached by the context that is asked for, and kubectl is told so", () =>
    Effect.gen(function* () {
      const { connection, kubeconfig } = yield* Cluster.Cluster
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "berth-existing-"))),
        (made) => Effect.sync(() => rmSync(made, { recursive: true }))
      )
      const path = join(folder, "config")
      const other = "{name: other, context: {cluster: elsewhere, user: admin}}"
      writeFileSync(
        path,
        kubeconfig
          .replace("current-context: embedded", "current-context: other")
          .replace("contexts:", `contexts:\n  - ${other}`)
      )
      const there = yield* Effect.gen(function* () {
        const cluster = yield* Cluster.Cluster
        return [cluster.connection.server, readFileSync(yield* cluster.kubeconfigFile, "utf8")] as const
      }).pipe(Effect.provide(Cluster.existing({ kubeconfig: path, context: "embedded" })))

      assert.strictEqual(there[0], connection.server)
      assert.match(there[1], /current-context: embedded/u)
    }).pipe(Effect.provide(Cluster.embedded()))
  )

  it.effect("T2: the client reaches a cluster that demands TLS and a token", () =>
    Effect.gen(function* () {
      const result = yield* anyCluster

      assert.deepStrictEqual<unknown>(result, expected)
    }).pipe(Effect.provide(Cluster.embeddedWithClient({ rbac: true })))
  )

  it.effect("T11: nothing is left of a cluster: no file, no port, no open watch", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Cluster.embedded(), scope)
      const { kubeconfig, kubeconfigFile } = Context.get(context, Cluster.Cluster)
      const { url } = Context.get(context, EmbeddedCluster.EmbeddedCluster)
      const file = yield* kubeconfigFile
      const written = readFileSync(file, "utf8")
      const watch = yield* Effect.promise(() => fetch(`${url}/api/v1/pods?watch=true`))
      const ended = Effect.exit(Effect.tryPromise(() => watch.text()))

      yield* Scope.close(scope, Exit.void)
      const refused = yield* Effect.exit(Effect.tryPromise(() => fetch(url)))

      assert.strictEqual(written, kubeconfig)
      assert.isFalse(existsSync(dirname(file)))
      assert.isTrue(Exit.isFailure(yield* ended))
      assert.isTrue(Exit.isFailure(refused))
    })
  )

  it.effect("T11: a test that is interrupted leaves nothing either", () =>
    Effect.gen(function* () {
      let file = ""
      const interrupted = Effect.gen(function* () {
        file = yield* (yield* Cluster.Cluster).kubeconfigFile
        return yield* Effect.interrupt
      }).pipe(Effect.provide(Cluster.embedded()))

      yield* Effect.exit(interrupted)

      assert.match(file, /kubeconfig$/u)
      assert.isFalse(existsSync(dirname(file)))
    })
  )

  it.effect("T11: many clusters leave no handle behind", () =>
    Effect.gen(function* () {
      const one = Effect.provide(anyCluster, Layer.fresh(Cluster.embeddedWithClient()))
      yield* one
      const before = process.getActiveResourcesInfo().length
      yield* Effect.repeat(one, { times: 30 })
      // Closed sockets are taken off the list in the next turn of the event loop.
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

      assert.isAtMost(process.getActiveResourcesInfo().length, before + 2)
    })
  )

  it.effect("T10: an embedded cluster starts within 50 ms", () =>
    Effect.gen(function* () {
      const start = Effect.scoped(Layer.build(Layer.fresh(Cluster.embedded())))
      yield* start
      const times = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.gen(function* () {
          const before = performance.now()
          yield* start
          return performance.now() - before
        })
      )
      const median = times.sort((a, b) => a - b)[10] ?? 0

      assert.isBelow(median, 50)
    })
  )

  it.effect("T11: dropped connections end what was open, and the cluster goes on", () =>
    Effect.gen(function* () {
      const { dropConnections, url } = yield* EmbeddedCluster.EmbeddedCluster
      const watch = yield* Effect.promise(() => fetch(`${url}/api/v1/pods?watch=true`))
      const ended = yield* Effect.forkChild(Effect.exit(Effect.tryPromise(() => watch.text())))

      yield* dropConnections
      const after = yield* Effect.promise(() => fetch(`${url}/healthz`))

      assert.isTrue(Exit.isFailure(yield* Fiber.join(ended)))
      assert.strictEqual(after.status, 200)
    }).pipe(Effect.provide(Cluster.embedded()))
  )
})
