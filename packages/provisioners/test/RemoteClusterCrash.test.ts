/** A program that dies at each of its writes, on its own cluster and on the remote one, while an object comes, changes and goes. */
import * as Builtin from "@berth/kube/Builtin"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import * as Events from "@berth/kube/Events"
import * as Kind from "@berth/kube/Kind"
import * as Operator from "@berth/kube/Operator"
import * as Transport from "@berth/kube/Transport"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as Crash from "@berth/testing/Crash"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, References } from "effect"
import * as Manager from "../src/Manager.ts"
import * as ObjectProvisioner from "../src/ObjectProvisioner.ts"
import * as Provisioner from "../src/Provisioner.ts"
import * as RemoteCluster from "../src/RemoteCluster.ts"
import * as remotes from "./support/remote.ts"
import * as Router from "./support/router.ts"
import { Widget } from "./support/widgets.ts"

const namespace = "default"

/** So that a run's registrations are called as in the run before. */
const identity = "7f7a4c1e-0000-4000-8000-000000000001"

/** The other cluster, as the test sees it. */
class Remote extends Context.Service<
  Remote,
  { readonly client: Client["Service"]; readonly cut: Effect.Effect<void> }
>()("test/Remote") {}

const world = Layer.effectContext(
  Effect.gen(function* () {
    const [home, remote] = [yield* remotes.makeCluster({}), yield* remotes.makeCluster({})]
    const router = yield* Router.start(home.url, remote.url)
    yield* home.client.create(Builtin.Namespace, { metadata: { name: remotes.home } })
    yield* home.client.apply(Builtin.CustomResourceDefinition, Kind.crd(Widget))
    yield* home.client.create(Builtin.Secret, {
      metadata: remotes.secretRef,
      data: { kubeconfig: Buffer.from(remote.kubeconfig).toString("base64") }
    })
    const cluster: Cluster.Service = {
      kind: "embedded",
      connection: Connection.make({ server: router.url }),
      kubeconfig: home.kubeconfig,
      kubeconfigFile: Effect.die("there is no file")
    }
    return Context.make(Cluster.Cluster, cluster).pipe(
      Context.add(Client, home.client),
      Context.add(Remote, { client: remote.client, cut: router.cut })
    )
  }).pipe(Effect.orDie)
)

const treeOf = (widget: Kind.Object<typeof Widget>) =>
  Provisioner.serial("all", [
    remotes.remoteSettings(widget, `${widget.metadata.name}-always`),
    Provisioner.conditional(
      "perhaps",
      widget.spec.size > 1,
      remotes.remoteSettings(widget, `${widget.metadata.name}-big`)
    )
  ])

const program = Effect.gen(function* () {
  const { request } = yield* Transport.Transport
  const named = JSON.stringify({ kind: "Namespace", metadata: { name: "kube-system", uid: identity } })
  const routed = Layer.succeed(Transport.Transport, {
    request: (asked) =>
      Effect.map(request({ ...asked, path: Router.remotePath(asked.path) }), (answer) =>
        asked.about.name === "kube-system" ? Transport.response(answer.status, named) : answer
      )
  })
  const clusters = RemoteCluster.layer({
    namespace: remotes.home,
    insecure: true,
    refusedNetworks: [],
    transport: () => routed
  })
  yield* Operator.run([Manager.make({ kind: Widget, provisioner: treeOf })], { grace: 0 }).pipe(
    Effect.provide(Layer.provideMerge(clusters, Layer.provideMerge(Caches.observedClient, Caches.layer))),
    Effect.provideService(Events.Recorder, Events.Recorder.of({ record: () => Effect.void })),
    Effect.provideService(References.MinimumLogLevel, "None")
  )
})

type Raw = Kind.Raw<typeof Widget>

const isReady = ({ metadata, status }: Raw): boolean =>
  status?.observedGeneration === metadata.generation &&
  (status?.conditions ?? []).some(({ status, type }) => type === "Ready" && status === "True")

const made = Effect.flatMap(Remote, remotes.settingsOn)

const widget = (name: string) => {
  const ref = { name, namespace }
  return {
    create: (size: number) => Client.use((client) => client.create(Widget, { metadata: ref, spec: { size } })),
    patch: (patch: object) => Client.use((client) => client.patch(Widget, ref, { type: "merge", patch })),
    until: (generation: number) =>
      Await.until(Widget, ref, (widget) => widget.metadata.generation === generation && isReady(widget)),
    remove: Client.use((client) => client.delete(Widget, ref)),
    gone: Await.gone(Widget, ref)
  }
}

const life = Effect.gen(function* () {
  const web = widget("web")
  yield* web.create(2)
  yield* web.until(1)
  assert.deepStrictEqual(yield* made, ["web-always", "web-big"])
  yield* web.patch({ spec: { size: 1 } })
  yield* web.until(2)
  assert.deepStrictEqual(yield* made, ["web-always"])
  yield* web.remove
  yield* web.gone
})

const registrations = Client.use((client) =>
  Effect.map(client.list(Builtin.Secret, { namespace: remotes.home }), ({ items }) =>
    items.map(({ metadata }) => metadata)
  )
)
const records = Client.use((client) =>
  Effect.map(
    client.list(Builtin.ConfigMap, { namespace: remotes.home, labelSelector: "berth.dev/abandoned-cluster" }),
    ({ items }) => items.map(({ data }) => data ?? {})
  )
)

/** What is on the remote cluster, by whose it is. */
const owners = Effect.flatMap(Remote, ({ client }) =>
  Effect.map(client.list(Builtin.ConfigMap, { labelSelector: ObjectProvisioner.ownerLabel }), ({ items }) =>
    items.map(({ metadata }) => metadata.labels?.[ObjectProvisioner.ownerLabel] ?? "")
  )
)

const nothingIsForgotten = Effect.gen(function* () {
  const held = (yield* registrations).flatMap(({ finalizers }) => finalizers ?? [])
  const given = (yield* records).map((record) => record["uid"])
  const forgotten = (yield* owners).filter(
    (uid) => !held.some((finalizer) => finalizer.startsWith(`berth.dev/ref-${uid}-`)) && !given.includes(uid)
  )
  assert.deepStrictEqual(forgotten, [])
})

const noneIsWithoutReferences = Effect.map(registrations, (all) =>
  assert.deepStrictEqual(
    all.filter(({ finalizers = [] }) => finalizers.length === 0).map(({ name }) => name),
    []
  )
)
const always = {
  "what is on the remote cluster is referred to": nothingIsForgotten,
  "a registration has references": noneIsWithoutReferences
}
const noneIsLeft = Effect.map(registrations, (all) =>
  assert.deepStrictEqual(
    all.map(({ name }) => name),
    []
  )
)

const coming: Crash.Scenario<Client | Remote> = {
  name: "the life of a widget on a remote cluster",
  world,
  system: program,
  drive: life,
  invariants: {
    "nothing is left there": Effect.map(made, (all) => assert.deepStrictEqual(all, [])),
    "no registration is left": noneIsLeft
  },
  always
}

const leaving: Crash.Scenario<Client | Remote> = {
  name: "a widget whose cluster is gone",
  world,
  system: program,
  drive: Effect.gen(function* () {
    const [web, { cut }] = [widget("web"), yield* Remote]
    yield* web.create(2)
    yield* web.until(1)
    yield* cut
    yield* web.remove
    yield* web.patch({ metadata: { annotations: { [RemoteCluster.abandonAnnotation]: identity } } })
    yield* web.gone
  }),
  invariants: {
    "there is one record of each thing": Effect.map(records, (all) => {
      const paths = all.map((record) => record["path"] ?? "")
      assert.deepStrictEqual(paths.toSorted(), ["all/perhaps/web-big", "all/web-always"])
    }),
    "no registration is left": noneIsLeft
  },
  always
}

/** Each run needs a fraction of that on a machine that has nothing else to do. */
const options: Crash.Options = { limit: "1 minute" }

describe("A program with remote clusters that dies", () => {
  it.live(
    "P27: at any of its writes comes to the same end, and neither forgets nor leaves anything on the way",
    () =>
      Effect.gen(function* () {
        const { missed, runs, skipped, writes } = yield* Crash.explore(coming, options)

        assert.deepStrictEqual([missed, skipped, runs], [0, 0, 1 + 2 * writes.length])
        assert.includeMembers([...writes], ["patch configmaps default/web-big", "delete configmaps default/web-big"])
        assert.isTrue(writes.some((write) => write.startsWith(`delete secrets ${remotes.home}/berth-cluster-`)))
      }),
    180_000
  )

  it.live(
    "P28: while it gives up what is on a cluster that is gone leaves one record of each thing, and no reference",
    () =>
      Effect.gen(function* () {
        const { missed, skipped, writes } = yield* Crash.explore(leaving, options)

        assert.deepStrictEqual([missed, skipped], [0, 0])
        assert.isTrue(writes.some((write) => write.startsWith(`create configmaps ${remotes.home}/berth-abandoned-`)))
      }),
    180_000
  )
})
