/** A region for a test: a cluster with a user who has just the rights that the README asks for. */
import { Access, Builtin, Client, type KubeObject } from "@berth/kube"
import { Await, EmbeddedCluster, Workloads } from "@berth/testing"
import { Effect, Exit, Layer, Scope } from "effect"
import { accessInRegion } from "../../src/controller.ts"
import type { Region } from "../../src/Site.ts"

const apiGroup = "rbac.authorization.k8s.io"
const metadata = { name: "sites" }
const user = { username: "sites", groups: ["system:authenticated"] }
const nobody = { username: "nobody", groups: [] }

const allowed = Client.Client.use((client) =>
  Effect.andThen(
    client.create(Builtin.ClusterRole, { metadata, rules: [...Access.rules(accessInRegion)] }),
    client.create(Builtin.ClusterRoleBinding, {
      metadata,
      roleRef: { apiGroup, kind: "ClusterRole", name: metadata.name },
      subjects: [{ apiGroup, kind: "User", name: user.username }]
    })
  )
)

/** Deployments come up there at once. `token-1` is good from the start. */
export const region = Effect.fnUntraced(function* (name: Region) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const cluster = yield* Scope.provide(EmbeddedCluster.make({ rbac: true, users: { "token-1": user } }), scope)
  const admin = Client.layerFromConnection(cluster.connection)
  const there = yield* Scope.provide(Layer.build(Layer.fresh(Layer.provideMerge(Workloads.layer(), admin))), scope)
  yield* Effect.provide(allowed, there)

  const asAdmin = <A, E>(request: (client: Client.Client["Service"]) => Effect.Effect<A, E>) =>
    Effect.provide(Client.Client.use(request), there)
  const { uid = "" } = (yield* asAdmin((client) => client.get(Builtin.Namespace, { name: "kube-system" }))).metadata
  const namespaceOf = ({ metadata }: KubeObject.KubeObject) => `site-${metadata.uid}-${name}`
  const refIn = (site: KubeObject.KubeObject) => ({ name: "site", namespace: namespaceOf(site) })
  return {
    name,
    identity: uid,
    server: cluster.connection.server,
    kubeconfig: (token: string) => cluster.kubeconfig.replace(/token: .*/u, `token: ${token}`),
    /** From now on one token is good for everything, and the other one for nothing. */
    renew: (token: string, before: string) =>
      Effect.andThen(cluster.addUser(token, user), cluster.addUser(before, nobody)),
    /** For good. */
    end: Scope.close(scope, Exit.void),
    deployment: (site: KubeObject.KubeObject) => asAdmin((client) => client.get(Builtin.Deployment, refIn(site))),
    loses: (site: KubeObject.KubeObject) => asAdmin((client) => client.delete(Builtin.ConfigMap, refIn(site))),
    serves: (site: KubeObject.KubeObject, page: string) =>
      Effect.provide(
        Await.until(Builtin.ConfigMap, refIn(site), ({ data }) => data?.["index.html"] === page),
        there
      ),
    isEmptied: (site: KubeObject.KubeObject) =>
      Effect.provide(Await.gone(Builtin.Namespace, { name: namespaceOf(site) }), there)
  }
})
