/** What the story needs: a Kubernetes API, something that runs Jobs, and a PostgreSQL. All of it goes when the scope closes. */
import * as KubeError from "@berth/kube/KubeError"
import * as Builtin from "@berth/kube/Builtin"
import * as ProviderCrds from "@berth/db-provider/Crds"
import { Client } from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Crds from "@berth/operator/Crds"
import * as Cluster from "@berth/testing/Cluster"
import * as JobController from "@berth/testing/JobController"
import * as PodRunner from "@berth/testing/PodRunner"
import * as Postgres from "@berth/testing/Postgres"
import { Data, Effect, Layer, Option, Schedule } from "effect"
import * as Manifests from "./Manifests.ts"
import { imageEnvironment, imageFolder } from "./OperatorProcess.ts"
import { Timeline } from "./Timeline.ts"

export const sharedNamespace = "berth-shared"
export const managementNamespace = "berth-system"
/** Of the database provider. */
export const databaseNamespace = "berth-db"

/** On the namespaces and the kinds that this story makes, so that it takes away no others. See manifests/namespaces.yaml. */
export const marker = { key: "app.kubernetes.io/managed-by", value: "berth-quickstart" }

export const isMarked = ({ metadata }: KubeObject): boolean => metadata.labels?.[marker.key] === marker.value

export class AlreadyInstalled extends Data.TaggedError("AlreadyInstalled")<{ readonly what: string }> {
  override get message() {
    return `This cluster has the ${this.what} already. The quickstart makes and removes it: use a cluster without Berth.`
  }
}

/** A run that was killed could not clean up. */
export class LeftFromEarlier extends Data.TaggedError("LeftFromEarlier")<{ readonly what: string }> {
  override get message() {
    return `This cluster still has the ${this.what} of an earlier quickstart.`
  }
}

const images = [{ match: /\/berth:/u, path: [imageFolder], env: imageEnvironment }]

/** Only what this story starts, since a cluster that exists may have Pods of its own. */
const pods = PodRunner.layer({ images, select: ({ metadata }) => metadata.namespace === sharedNamespace })

/** In this process, with what a cluster has beside its API. */
export const embedded = Layer.merge(pods, JobController.layer).pipe(
  Layer.provideMerge(Cluster.client),
  Layer.provideMerge(Cluster.embedded())
)

const existing = (kubeconfig: string) =>
  pods.pipe(Layer.provideMerge(Cluster.client), Layer.provideMerge(Cluster.existing({ kubeconfig })))

/** A cluster, what runs Jobs on it, and a client. */
export const cluster = (kubeconfig: Option.Option<string>) =>
  Option.match(kubeconfig, { onNone: () => embedded, onSome: existing })

/** A cluster that has Berth is left alone: what the story makes it also removes. */
export const refuseInstalled = Effect.fn("Stage.refuseInstalled")(function* () {
  const client = yield* Client
  const namespaces = [managementNamespace, sharedNamespace, databaseNamespace].map(
    (name) => [Builtin.Namespace, "namespace", name] as const
  )
  const kinds = [...Crds.all, ...ProviderCrds.all].map(
    ({ metadata: { name } }) => [Builtin.CustomResourceDefinition, "kind", name] as const
  )
  for (const [type, what, name] of [...namespaces, ...kinds]) {
    const found = yield* KubeError.orNone(client.get<KubeObject>(type, { name }))
    if (Option.isSome(found)) {
      const named = { what: `${what} ${name}` }
      return yield* isMarked(found.value) ? new LeftFromEarlier(named) : new AlreadyInstalled(named)
    }
  }
})

/** The kinds, the namespaces and the admin's Secret: what a platform team does before it installs the operator. */
export const prepare = Effect.fn("Stage.prepare")(function* () {
  const client = yield* Client
  const timeline = yield* Timeline
  yield* define(Crds.all)
  yield* Manifests.apply("namespaces.yaml")
  const { host, port, provisioner } = yield* Postgres.Postgres
  yield* client.create(Builtin.Secret, {
    metadata: { name: "postgres-admin", namespace: sharedNamespace },
    stringData: { host, port: String(port), user: provisioner.user, password: provisioner.password }
  })
  yield* timeline.note(`the Secret ${sharedNamespace}/postgres-admin says: PostgreSQL is on port ${port}`)
})

/** Makes kinds, marked as the quickstart's, and waits until there are. */
export const define = Effect.fn("Stage.define")(function* (crds: typeof Crds.all) {
  const client = yield* Client
  for (const crd of crds) {
    const labels = { [marker.key]: marker.value }
    const marked = { ...crd, metadata: { ...crd.metadata, labels } }
    yield* client.apply(Builtin.CustomResourceDefinition, marked, { fieldManager: "quickstart", force: true })
  }
  yield* Effect.forEach(crds, ({ metadata }) => established(metadata.name), { concurrency: "unbounded" })
})

const established = Effect.fnUntraced(function* (name: string) {
  const client = yield* Client
  const ready = client
    .get(Builtin.CustomResourceDefinition, { name })
    .pipe(
      Effect.map(
        ({ status }) =>
          status?.conditions?.some((each) => each.type === "Established" && each.status === "True") === true
      )
    )
  yield* Effect.repeat(ready, { until: (yes) => yes, schedule: Schedule.spaced("50 millis") })
})
