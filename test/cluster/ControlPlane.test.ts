/** The control plane of the harness itself: whom it lets in, and what survives its restart. */
import { symlinkSync } from "node:fs"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type { Connection } from "@berth/kube/Connection"
import * as Cluster from "@berth/testing/Cluster"
import { ControlPlane } from "@berth/testing/ControlPlane"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Option } from "effect"

const as = <A, E>(connection: Connection, work: Effect.Effect<A, E, Client.Client>) =>
  Effect.provide(work, Client.layerFromConnection(connection))

const binaries = process.env["KUBEBUILDER_ASSETS"]
const described = binaries === undefined ? describe.skip : describe

described("ControlPlane", () => {
  layer(Cluster.controlPlane({ binaries }), { timeout: 90_000, excludeTestServices: true })((it) => {
    it.effect("T1: RBAC says what anybody but the administrator may do", () =>
      Effect.gen(function* () {
        const { connection, connectionFor } = yield* ControlPlane
        const reads = Client.Client.use((client) => client.list(Builtin.ConfigMap, { namespace: "default" }))
        const ada = connectionFor({ name: "ada", groups: ["readers"] })

        assert.strictEqual((yield* Effect.flip(as(ada, reads)))._tag, "Forbidden")
        yield* as(
          connection,
          Effect.gen(function* () {
            const client = yield* Client.Client
            const metadata = { name: "readers", namespace: "default" }
            const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }]
            yield* client.create(Builtin.Role, { metadata, rules })
            yield* client.create(Builtin.RoleBinding, {
              metadata,
              roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "readers" },
              subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "readers" }]
            })
          })
        )
        yield* Effect.eventually(as(ada, reads))
      })
    )

    it.effect("T1: what was written is there after the API server was started again", () =>
      Effect.gen(function* () {
        const { connection, restartApiServer } = yield* ControlPlane
        const ref = { name: "kept", namespace: "default" }
        yield* as(
          connection,
          Client.Client.use((client) => client.create(Builtin.ConfigMap, { metadata: ref }))
        )
        yield* restartApiServer
        const found = yield* as(
          connection,
          Effect.option(Client.Client.use((client) => client.get(Builtin.ConfigMap, ref)))
        )

        assert.isTrue(Option.isSome(found))
      })
    )
  })

  it.live(
    "T1: programs without controllers, such as those of envtest, are an API server alone",
    () =>
      Effect.gen(function* () {
        const folder = yield* LocalProcess.temporaryFolder("berth-test")
        for (const name of ["etcd", "kube-apiserver"]) symlinkSync(join(binaries ?? "", name), join(folder, name))
        const namespace = { metadata: { name: "alone" } }

        const made = yield* Client.Client.use((client) =>
          Effect.gen(function* () {
            yield* client.create(Builtin.Namespace, namespace)
            const containers = [{ name: "main", image: "example.com/tool" }]
            yield* client.create(Builtin.Pod, { metadata: { name: "pod", namespace: "alone" }, spec: { containers } })
            return yield* client.list(Builtin.ServiceAccount, { namespace: "alone" })
          })
        ).pipe(Effect.provide(Cluster.client), Effect.provide(Cluster.controlPlane({ binaries: folder })))

        assert.deepStrictEqual(made.items, [])
      }).pipe(Effect.scoped),
    60_000
  )
})
