/** A remote cluster that is a real one, while it is restarted, shows other certificates, and is gone for good. */
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import * as Caches from "@berth/kube/Caches"
import * as Client from "@berth/kube/Client"
import type { Connection } from "@berth/kube/Connection"
import * as Events from "@berth/kube/Events"
import * as Kind from "@berth/kube/Kind"
import * as Operator from "@berth/kube/Operator"
import * as Manager from "@berth/provisioners/Manager"
import * as ObjectProvisioner from "@berth/provisioners/ObjectProvisioner"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import * as Await from "@berth/testing/Await"
import * as Clusters from "@berth/testing/Clusters"
import * as ControlPlane from "@berth/testing/ControlPlane"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, References, Schedule, Schema, Scope } from "effect"
import { makeAuthority } from "../../packages/kube/test/support/certificates.ts"

const binaries = process.env["KUBEBUILDER_ASSETS"]
const existing = Clusters.each().find(({ kind }) => kind === "existing")
const described = binaries === undefined || existing === undefined ? describe.skip : describe
const home = existing?.layer ?? Layer.effect(Client.Client, Effect.die("there is no cluster"))

const Site = Kind.make({
  group: "remote.test.berth.dev",
  version: "v1",
  kind: "Site",
  scope: "Namespaced",
  spec: Schema.Struct({ color: Kind.Text(1, 20) }),
  status: Schema.Struct(Manager.statusFields)
})
type Site = Kind.Raw<typeof Site>

/** The name that the remote API server goes by in kubeconfigs, where it shows certificates that a test can change. */
const serverName = "api.remote.test"
const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64")
const reveal = (material: Connection["token"]) => (Redacted.isRedacted(material) ? Redacted.value(material) : "")

/** A control plane that can be ended, and shows new certificates after a restart. */
const remotePlane = Effect.gen(function* () {
  const folder = yield* LocalProcess.temporaryFolder("berth-remote")
  const [cert, key] = [join(folder, "server.crt"), join(folder, "server.key")]
  const renew = Effect.sync(() => {
    const authority = makeAuthority("remote")
    const own = authority.issue("server", serverName)
    writeFileSync(cert, own.certificate)
    writeFileSync(key, own.key)
    return authority.certificate
  })
  const first = yield* renew
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const plane = yield* Scope.provide(
    ControlPlane.make({ binaries, apiServerFlags: [`--tls-sni-cert-key=${cert},${key}:${serverName}`] }),
    scope
  )
  const context = yield* Layer.build(Layer.fresh(Client.layerFromConnection(plane.connection)))
  const client = Context.get(context, Client.Client)
  const { metadata } = yield* client.get(Builtin.Namespace, { name: "kube-system" })
  const admin = plane.connectionFor({ name: "anna", groups: ["system:masters"] })
  return {
    ...plane,
    client,
    identity: metadata.uid ?? "",
    end: Scope.close(scope, Exit.void),
    first,
    renew,
    certificates: {
      "client-certificate-data": base64(reveal(admin.clientCertificate)),
      "client-key-data": base64(reveal(admin.clientKey))
    },
    kubeconfig: (ca: string, user: object) =>
      JSON.stringify({
        "current-context": "c",
        clusters: [
          {
            name: "c",
            cluster: { server: plane.url, "certificate-authority-data": base64(ca), "tls-server-name": serverName }
          }
        ],
        users: [{ name: "u", user }],
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }]
      })
  }
})

type Remote = Effect.Success<typeof remotePlane>

const point = (namespace: string, kubeconfig: string, name = "site") =>
  Client.Client.use((client) =>
    client.apply(
      Builtin.Secret,
      { metadata: { namespace, name }, data: { kubeconfig: base64(kubeconfig) } },
      { force: true }
    )
  )

/** The token of a ServiceAccount that may do everything. */
const accountToken = ({ client }: Remote) =>
  Effect.gen(function* () {
    const metadata = { namespace: "kube-system", name: "berth" }
    yield* client.create(Builtin.ServiceAccount, { metadata })
    yield* client.create(Builtin.ClusterRoleBinding, {
      metadata: { name: "berth" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", ...metadata }]
    })
    const type = "kubernetes.io/service-account-token"
    const annotations = { "kubernetes.io/service-account.name": "berth" }
    yield* client.create(Builtin.Secret, { metadata: { ...metadata, annotations }, type })
    const filled = yield* Await.until(Builtin.Secret, metadata, ({ data }) => data?.["token"] !== undefined)
    return Buffer.from(filled.data?.["token"] ?? "", "base64").toString("utf8")
  }).pipe(Effect.provideService(Client.Client, client))

/** Goes there and back with each way to prove who one is. */
const allWays = Effect.fnUntraced(
  function* (namespace: string, remote: Remote) {
    const token = yield* accountToken(remote)
    const folder = yield* LocalProcess.temporaryFolder("berth-remote")
    const tokenFile = join(folder, "token")
    writeFileSync(tokenFile, token, { mode: 0o600 })
    const apiVersion = "client.authentication.k8s.io/v1"
    const printed = JSON.stringify({ apiVersion, kind: "ExecCredential", status: { token } })
    const exec = { apiVersion, command: process.execPath, args: ["-e", `console.log(${JSON.stringify(printed)})`] }
    const ways = { certificates: remote.certificates, token: { token }, file: { tokenFile }, exec: { exec } }
    const clusters = RemoteCluster.layer({
      namespace,
      refusedNetworks: [],
      trust: { folders: [folder], exec: ({ command }) => command === process.execPath }
    })
    const there = Effect.map(
      remote.client.list(Builtin.ConfigMap, { namespace: "default", labelSelector: ObjectProvisioner.ownerLabel }),
      ({ items }) => items.map(({ metadata }) => metadata.name)
    )
    for (const [name, user] of Object.entries(ways)) {
      yield* point(namespace, remote.kubeconfig(remote.first, user), name)
      const owner = { apiVersion: "v1", kind: "Test", metadata: { name, namespace, uid: randomUUID() } }
      const child = ObjectProvisioner.make("settings", {
        type: Builtin.ConfigMap,
        owner: owner.metadata,
        object: { metadata: { name, namespace: "default" } }
      })
      const { deprovision, provision } = RemoteCluster.on({ owner, kubeconfig: { namespace, name } }, child)
      yield* Effect.gen(function* () {
        yield* provision
        assert.deepStrictEqual(yield* there, [name])
        yield* deprovision
      }).pipe(Effect.provide(clusters, { local: true }))
      assert.deepStrictEqual(yield* there, [])
    }
  },
  Effect.provideService(Events.Recorder, Events.Recorder.of({ record: () => Effect.void }))
)

/** The program, with sites as its only kind. It runs until the scope closes. */
const start = Effect.fnUntraced(function* (namespace: string) {
  const sites = Manager.make({
    kind: Site,
    inputs: [Builtin.Secret],
    provisioner: (site) =>
      RemoteCluster.on(
        { owner: site, kubeconfig: { namespace, name: "site" } },
        ObjectProvisioner.make("settings", {
          type: Builtin.ConfigMap,
          owner: site.metadata,
          object: { metadata: { name: site.metadata.name, namespace: "default" }, data: { color: site.spec.color } }
        })
      )
  })
  const clusters = RemoteCluster.layer({ namespace, refusedNetworks: [], deadline: "5 seconds" })
  const layers = clusters.pipe(
    Layer.provideMerge(Events.layer({ controller: "berth.dev/test" })),
    Layer.provideMerge(Caches.observedClient),
    Layer.provideMerge(Caches.layer)
  )
  yield* Operator.run([sites], { grace: 0 }).pipe(
    Effect.provide(layers),
    Effect.provideService(References.MinimumLogLevel, "None"),
    Effect.forkScoped
  )
})

const readyOf = ({ status }: Site) => status?.conditions?.find(({ type }) => type === "Ready")

const registrations = (namespace: string) =>
  Client.Client.use((client) =>
    Effect.map(client.list(Builtin.Secret, { namespace, labelSelector: "berth.dev/cluster" }), ({ items }) => items)
  )

described("RemoteCluster, between two control planes", () => {
  it.live(
    "P25, P26, P27, P28, P29: a cluster that is reached in every way, restarts, shows other certificates, and is gone for good",
    () =>
      Effect.gen(function* () {
        const client = yield* Client.Client
        const remote = yield* remotePlane
        yield* Clusters.definition(Kind.crd(Site))
        const namespace = yield* Clusters.namespace
        const ref = { namespace, name: yield* Clusters.unique("web") }
        const until = (holds: (site: Site) => boolean) => Await.until(Site, ref, holds)
        const isReady = (site: Site) =>
          readyOf(site)?.status === "True" && site.status?.observedGeneration === site.metadata.generation
        const paint = (color: string) =>
          Effect.andThen(client.patch(Site, ref, { type: "merge", patch: { spec: { color } } }), until(isReady))
        const colorThere = Effect.map(
          remote.client.get(Builtin.ConfigMap, { name: ref.name, namespace: "default" }),
          ({ data }) => data?.["color"]
        )
        yield* allWays(namespace, remote)
        yield* start(namespace)

        yield* client.create(Site, { metadata: ref, spec: { color: "red" } })
        yield* until((site) => readyOf(site)?.reason === "secret_missing")
        yield* point(namespace, remote.kubeconfig(remote.first, remote.certificates))
        yield* until(isReady)
        const [registration] = yield* registrations(namespace)
        assert.strictEqual(yield* colorThere, "red")
        assert.strictEqual(registration?.metadata.labels?.["berth.dev/cluster"], remote.identity)

        yield* remote.restartApiServer
        yield* paint("green")
        assert.strictEqual(yield* colorThere, "green")

        const authority = yield* remote.renew
        yield* remote.restartApiServer
        yield* client.patch(Site, ref, { type: "merge", patch: { spec: { color: "blue" } } })
        yield* until((site) => readyOf(site)?.reason === "certificate_untrusted")
        yield* point(namespace, remote.kubeconfig(authority, remote.certificates))
        yield* until(isReady)
        assert.strictEqual(yield* colorThere, "blue")

        yield* remote.end
        yield* client.delete(Site, ref)
        const { metadata } = yield* until((site) => readyOf(site)?.reason === "cluster_unreachable")
        assert.strictEqual((yield* registrations(namespace)).length, 1)
        const annotations = { [RemoteCluster.abandonAnnotation]: remote.identity }
        yield* client.patch(Site, ref, { type: "merge", patch: { metadata: { annotations } } })
        yield* Await.gone(Site, ref)

        const { items: records } = yield* client.list(Builtin.ConfigMap, {
          namespace,
          labelSelector: `berth.dev/abandoned-cluster=${remote.identity}`
        })
        assert.deepStrictEqual(
          records.map(({ data }) => [data?.["uid"], data?.["problem"]]),
          [[metadata.uid, "unreachable"]]
        )
        assert.deepStrictEqual(yield* registrations(namespace), [])
        const told = Effect.map(client.list(Builtin.Event, { namespace }), ({ items }) =>
          items.filter(({ reason, regarding }) => reason === "ClusterAbandoned" && regarding?.uid === metadata.uid)
        )
        yield* Effect.repeat(told, { until: (events) => events.length === 1, schedule: Schedule.spaced("50 millis") })
      }).pipe(Effect.scoped, Effect.provide(home)),
    180_000
  )
})
