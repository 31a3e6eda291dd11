/** What a real control plane goes through: its API server starts again, its etcd forgets, a token ends before its time. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import * as Controller from "@berth/kube/Controller"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Operator from "@berth/kube/Operator"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import { ControlPlane } from "@berth/testing/ControlPlane"
import * as Faults from "@berth/testing/Faults"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Option, Queue, References, Stream } from "effect"
import * as Accounts from "./support/accounts.ts"

const binaries = process.env["KUBEBUILDER_ASSETS"]
const described = binaries === undefined ? describe.skip : describe

/** The API server has no memory of ConfigMaps of its own: what etcd forgets is gone. */
const apiServerFlags = ["--watch-cache-sizes=configmaps#0"]

/** What breaks on purpose is nothing to read about. */
const quiet = Layer.succeed(References.MinimumLogLevel, "None")

const labels = { mine: "yes" }
const named = (namespace: string, name: string) => ({ metadata: { name, namespace, labels } })
const versions = (items: ReadonlyArray<KubeObject>) =>
  items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted()

/** A controller that tells what it reconciles, and how to wait until it has reconciled all of these. */
const observed = Effect.fnUntraced(function* (namespace: string) {
  const told = yield* Queue.unbounded<string>()
  const secrets = Cache.define(Builtin.Secret, { namespaces: [namespace], labelSelector: "mine" })
  const controller = Controller.make({
    name: "observed",
    watches: [Watch.on(secrets)],
    reconcile: ({ name }) => Effect.as(Queue.offer(told, name), Requeue.none)
  })
  /** Everything that was reconciled until the last of these. */
  const reconciled = Effect.fnUntraced(function* (...names: ReadonlyArray<string>) {
    const missing = new Set(names)
    const seen: Array<string> = []
    while (missing.size > 0) {
      const name = yield* Queue.take(told)
      missing.delete(name)
      seen.push(name)
    }
    return seen.toSorted()
  })
  return { controller, reconciled }
})

described("On a control plane", () => {
  layer(
    Layer.provideMerge(quiet, Layer.provideMerge(Cluster.client, Cluster.controlPlane({ binaries, apiServerFlags }))),
    {
      timeout: 90_000,
      excludeTestServices: true
    }
  )((it) => {
    it.effect("K8, K9: an API server that starts again costs a controller nothing, and starts no storm", () =>
      Effect.gen(function* () {
        const { restartApiServer } = yield* ControlPlane
        const client = yield* Client.Client
        const namespace = yield* Clusters.namespace
        const names = Array.from({ length: 40 }, (_, index) => `s-${index}`)
        yield* Effect.forEach(names, (name) => client.create(Builtin.Secret, named(namespace, name)), {
          concurrency: 8
        })
        const { controller, reconciled } = yield* observed(namespace)
        yield* Effect.forkScoped(Effect.provide(Operator.run([controller], { grace: 0 }), Caches.layer))
        yield* reconciled(...names)
        // What happens to other kinds makes the last version of the watch too old for a server that begins now.
        yield* Effect.forEach(["x", "y", "z"], (name) => client.create(Builtin.ConfigMap, named(namespace, name)))

        yield* restartApiServer
        const patch = { type: "merge", patch: { stringData: { x: "1" } } } as const
        yield* client.patch(Builtin.Secret, { namespace, name: "s-0" }, patch)
        yield* client.delete(Builtin.Secret, { namespace, name: "s-1" })
        yield* client.create(Builtin.Secret, named(namespace, "new"))
        const first = yield* reconciled("s-0", "s-1", "new")
        // What else the new list may have set off comes before a change that follows it.
        yield* client.patch(Builtin.Secret, { namespace, name: "s-2" }, patch)
        const second = yield* reconciled("s-2")

        assert.deepStrictEqual([...first, ...second], ["new", "s-0", "s-1", "s-2"])
      }).pipe(Effect.scoped)
    )

    it.effect("K5: etcd's compaction in the middle of a list begins it anew", () =>
      Effect.gen(function* () {
        const { compact } = yield* ControlPlane
        const client = yield* Client.Client
        const namespace = yield* Clusters.namespace
        yield* Effect.forEach(["a", "b", "c", "d"], (name) => client.create(Builtin.ConfigMap, named(namespace, name)))
        const forget = Effect.andThen(
          client.patch(Builtin.ConfigMap, { namespace, name: "a" }, { type: "merge", patch: { data: { x: "1" } } }),
          compact
        )

        const listed = yield* client
          .listStream(Builtin.ConfigMap, { namespace, labelSelector: "mine", pageSize: 2 })
          .pipe(
            Stream.tap(({ metadata }) => (metadata.name === "b" ? forget : Effect.void)),
            Stream.runCollect
          )

        assert.deepStrictEqual(
          listed.map(({ data, metadata }) => `${metadata.name} ${data?.["x"] ?? "-"}`),
          ["a -", "b -", "a 1", "c -", "d -"]
        )
      }).pipe(Effect.scoped)
    )

    it.effect("K8, K9: a watch from a version that etcd has forgotten begins anew, and misses nothing", () =>
      Effect.gen(function* () {
        const { compact, restartApiServer } = yield* ControlPlane
        const client = yield* Client.Client
        const namespace = yield* Clusters.namespace
        yield* Effect.forEach(["a", "b"], (name) => client.create(Builtin.ConfigMap, named(namespace, name)))
        const faulty = yield* Layer.build(Layer.fresh(Faults.client()))
        const faults = Context.get(faulty, Faults.Faults)
        const definition = Cache.define(Builtin.ConfigMap, { namespaces: [namespace], labelSelector: "mine" })
        const cache = yield* Effect.provideContext(Cache.make(definition), faulty)
        yield* cache.synced
        const told: Array<string> = []
        const agrees = yield* Queue.unbounded<void>()
        yield* cache.subscribe(({ _tag, object }) => {
          told.push(`${_tag} ${object.metadata.name}`)
          if (told.length === 5) Queue.offerUnsafe(agrees, undefined)
        })

        yield* faults.inject({ on: { verb: "watch" }, fault: Faults.unreachable })
        yield* restartApiServer
        yield* client.patch(Builtin.ConfigMap, { namespace, name: "a" }, { type: "merge", patch: { data: { x: "1" } } })
        yield* client.delete(Builtin.ConfigMap, { namespace, name: "b" })
        yield* client.create(Builtin.ConfigMap, named(namespace, "c"))
        yield* compact
        yield* faults.forget
        yield* faults.mend
        yield* Queue.take(agrees)

        const asked = (yield* faults.requests()).filter(({ faults }) => faults.length === 0)
        const { items } = yield* client.list(Builtin.ConfigMap, { namespace, labelSelector: "mine" })
        assert.deepStrictEqual(told.toSorted(), ["Added a", "Added b", "Added c", "Deleted b", "Modified a"])
        assert.deepStrictEqual(versions(yield* cache.list()), versions(items))
        // The first one was told 410, or it would have gone on.
        assert.isAtLeast(asked.length, 2)
      }).pipe(Effect.scoped)
    )

    it.effect("K2, K20: a token that has ended is replaced by the one that is in its file since", () =>
      Effect.gen(function* () {
        const { connection, url } = yield* ControlPlane
        const client = yield* Client.Client
        const namespace = yield* Clusters.namespace
        yield* Accounts.create({ name: "operator", namespace }, [
          { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }
        ])
        const file = join(yield* LocalProcess.temporaryFolder("berth-test"), "token")
        const write = (token: string) => Effect.sync(() => writeFileSync(file, token, { mode: 0o600 }))
        const bound = yield* client.create(Builtin.Secret, named(namespace, "bound"))
        // A token of an object ends with it, as that of a Pod does.
        yield* write(yield* Accounts.token({ name: "operator", namespace }, bound))
        yield* client.delete(Builtin.Secret, { namespace, name: "bound" })
        const own = Connection.make({ server: url, ca: connection.ca, token: { file } })
        const operator = yield* Layer.build(Layer.fresh(Client.layerFromConnection(own)))
        const cache = yield* Effect.provideContext(
          Cache.make(Cache.define(Builtin.ConfigMap, { namespaces: [namespace] })),
          operator
        )
        const reads = Context.get(operator, Client.Client).list(Builtin.ConfigMap, { namespace })

        const refused = yield* Effect.flip(reads)
        yield* Effect.repeat(cache.status, { until: ({ problem }) => Option.isSome(problem) })
        const { problem } = yield* cache.status
        yield* write(yield* Accounts.token({ name: "operator", namespace }))
        yield* reads
        yield* cache.synced

        assert.strictEqual(refused._tag, "Unauthorized")
        assert.strictEqual(Option.getOrThrow(problem).why, `Unauthorized in the namespace ${namespace}`)
        assert.isTrue(Option.isNone((yield* cache.status).problem))
      }).pipe(Effect.scoped)
    )
  })
})
