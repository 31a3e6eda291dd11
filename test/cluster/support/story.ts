/** The quickstart, and what people do afterwards: together it asks for everything that the operator may ask for. */
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { Ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Deployer from "@berth/shared-components/Deployer"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import { Slice } from "@berth/shared-components/Slice"
import * as Await from "@berth/testing/Await"
import * as PodRunner from "@berth/testing/PodRunner"
import * as Postgres from "@berth/testing/Postgres"
import { Effect, Layer } from "effect"
import * as berth from "../../../packages/operator/test/support/berth.ts"
import * as Markdown from "../../support/markdown.ts"
import * as Manifests from "./manifests.ts"
import type * as Requests from "./requests.ts"

/** The quickstart's, in these namespaces. */
const quickstart = (
  file: string,
  { managementNamespace, sharedNamespace }: Requests.Places
): ReadonlyArray<Manifests.Manifest> =>
  Manifests.objectsOf(
    Markdown.read(`examples/quickstart/manifests/${file}`)
      .replaceAll("berth-system", managementNamespace)
      .replaceAll("berth-shared", sharedNamespace)
  )

const isReady = ({ metadata, status }: { readonly metadata: { readonly generation?: number } } & ConditionedStatus) =>
  Conditions.isTrue(status?.conditions, "Ready", metadata.generation)

interface ConditionedStatus {
  readonly status?: { readonly conditions?: ReadonlyArray<typeof Conditions.Condition.Encoded> }
}

const reasonOf = ({ status }: ConditionedStatus) => Conditions.get(status?.conditions, "Ready")?.reason

/** Processes of this machine for the Jobs of the shared namespace, and a PostgreSQL for them. */
const jobs = ({ sharedNamespace }: Requests.Places) =>
  PodRunner.layer({
    images: [
      {
        match: /\/berth:/u,
        path: [join(import.meta.dirname, "../../../examples/quickstart/bin")],
        env: { BERTH_NODE: berth.sources[0], BERTH_MAIN: berth.sources.at(-1) ?? "" }
      }
    ],
    select: ({ metadata }) => metadata.namespace === sharedNamespace
  })

/** One script that cannot succeed, for what is asked only where something fails. */
const broken = (managementNamespace: string): ReadonlyArray<Manifests.Manifest> =>
  Manifests.objectsOf(`
apiVersion: berth.dev/v1alpha1
kind: SharedComponentProvider
metadata: { name: broken, namespace: ${managementNamespace} }
spec:
  external: { secretRef: { name: postgres-admin }, keys: [host, port] }
  provision: { image: ghcr.io/berth-dev/berth:0.1.0, retries: 0, script: "echo in vain; exit 1" }
  deprovision: { image: ghcr.io/berth-dev/berth:0.1.0, script: "true" }
  binding: { host: "{{ .Host }}" }
---
apiVersion: berth.dev/v1alpha1
kind: SharedComponent
metadata: { name: broken, namespace: ${managementNamespace} }
spec: { providerRef: { name: broken } }
---
apiVersion: berth.dev/v1alpha1
kind: EnvironmentTemplate
metadata: { name: broken, namespace: ${managementNamespace} }
spec:
  components: [{ name: db, sharedComponentRef: { name: broken } }]
---
apiVersion: berth.dev/v1alpha1
kind: Environment
metadata: { name: in-vain, namespace: ${managementNamespace} }
spec: { templateRef: { name: broken } }
`)

/** A chart of this machine, for whoever deploys it there. */
const charted = (managementNamespace: string): ReadonlyArray<Manifests.Manifest> =>
  Manifests.objectsOf(`
apiVersion: berth.dev/v1alpha1
kind: EnvironmentTemplate
metadata: { name: charted, namespace: ${managementNamespace} }
spec:
  components:
    - name: app
      helm: { path: ${join(import.meta.dirname, "../../cd/charts/demo")}, values: { greeting: "hello {{ .Env.Name }}" } }
---
apiVersion: berth.dev/v1alpha1
kind: Environment
metadata: { name: charted, namespace: ${managementNamespace} }
spec: { templateRef: { name: charted } }
`)

/** Somebody gives the account of charts other rights than it should have. */
const otherRights = Effect.fnUntraced(function* (ref: Ref & { readonly namespace: string }) {
  const client = yield* Client
  const { roleRef, subjects = [] } = yield* client.get(Builtin.RoleBinding, ref)
  yield* client.delete(Builtin.RoleBinding, ref)
  yield* client.create(Builtin.RoleBinding, { metadata: ref, roleRef: { ...roleRef, name: "view" }, subjects })
})

/** Everything is removed at the end; the records that are left are given. */
const told = Effect.fnUntraced(function* (where: Requests.Places) {
  const client = yield* Client
  const { managementNamespace: namespace, sharedNamespace } = where
  const { host, port, provisioner } = yield* Postgres.Postgres
  const ref = (name: string): Ref => ({ name, namespace })
  const remove = Effect.fnUntraced(function* (type: ResourceType, ...names: ReadonlyArray<string>) {
    yield* Effect.forEach(names, (name) => client.delete(type, ref(name)))
    yield* Effect.forEach(names, (name) => Await.gone(type, ref(name)))
  })
  const admin = { name: "postgres-admin", namespace: sharedNamespace }
  yield* client.create(Builtin.Secret, {
    metadata: admin,
    stringData: { host, port: String(port), user: provisioner.user, password: provisioner.password }
  })
  for (const file of ["provider", "shared-component", "template", "environments"]) {
    yield* Manifests.apply(quickstart(`${file}.yaml`, where))
  }
  const { status } = yield* Await.until(Environment, ref("feature-a"), isReady)
  yield* Await.until(Environment, ref("feature-b"), isReady)

  // One too many waits, until there is room.
  yield* Manifests.apply(quickstart("third-environment.yaml", where))
  yield* Await.until(Environment, ref("feature-c"), (found) => reasonOf(found) === "waiting_for_place")
  // Somebody edits what an application reads.
  const app = { name: "app-env", namespace: status?.namespace ?? "" }
  yield* client.patch(Builtin.Secret, app, { type: "merge", patch: { data: { DATABASE_URL: "aGk=" } } })
  yield* Await.until(Builtin.Secret, app, ({ data }) => data?.["DATABASE_URL"] !== "aGk=")
  // The instance moves.
  yield* client.patch(Builtin.Secret, admin, { type: "merge", patch: { stringData: { host: "localhost" } } })
  yield* remove(Environment, "feature-a")
  yield* Await.until(Environment, ref("feature-c"), isReady)
  // A short life.
  yield* client.patch(Environment, ref("feature-c"), { type: "merge", patch: { spec: { ttl: "1s" } } })
  yield* Await.gone(Environment, ref("feature-c"))

  // What was told is told again: one Event, counted.
  const renamed = (name: string) =>
    client.patch(Environment, ref("feature-b"), { type: "merge", patch: { spec: { templateRef: { name } } } })
  yield* renamed("missing")
  yield* Await.until(Environment, ref("feature-b"), (found) => reasonOf(found) === "template_missing")
  yield* renamed("shop")
  yield* Await.until(Environment, ref("feature-b"), isReady)

  yield* Manifests.apply(broken(namespace))
  yield* Await.until(Environment, ref("in-vain"), ({ status }) => Conditions.isTrue(status?.conditions, "Stalled"))

  yield* Manifests.apply(charted(namespace))
  const { status: deployed } = yield* Await.until(Environment, ref("charted"), isReady)
  const account = { name: Deployer.name, namespace: deployed?.namespace ?? "" }
  yield* otherRights(account)
  const greeting = { spec: { values: { app: { greeting: "hello again" } } } }
  yield* client.patch(Environment, ref("charted"), { type: "merge", patch: greeting })
  yield* Await.until(Builtin.RoleBinding, account, ({ roleRef }) => roleRef.name !== "view")
  yield* Await.until(Environment, ref("charted"), isReady)

  yield* remove(Environment, "feature-b", "in-vain", "charted")
  yield* remove(EnvironmentTemplate, "shop", "broken", "charted")
  yield* remove(SharedComponent, "postgres", "broken")
  yield* remove(SharedComponentProvider, "postgres", "broken")
  return yield* client.list(Slice, { namespace })
})

export const tell = (where: Requests.Places) => Effect.provide(told(where), Layer.fresh(jobs(where)))
