/** What the story needs: a Kubernetes API, something that runs Jobs, and a PostgreSQL. All of it goes when the scope closes. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
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

export class AlreadyInstalled extends Data.TaggedError("AlreadyInstalled")<{}> {
  override get message() {
    return "This cluster has a namespace berth-system already. The quickstart makes and removes it, so it wants a cluster without Berth."
  }
}

const images = [{ match: /\/berth:/u, path: [imageFolder], env: imageEnvironment }]

/** Only what this story starts, since a cluster that exists may have Pods of its own. */
const pods = PodRunner.layer({ images, select: ({ metadata }) => metadata.namespace === sharedNamespace })

/** A cluster, what runs Jobs on it, and a client. */
export const cluster = (kubeconfig: Option.Option<string>) =>
  Option.match(kubeconfig, {
    onNone: () =>
      Layer.merge(pods, JobController.layer).pipe(
        Layer.provideMerge(Cluster.client),
        Layer.provideMerge(Cluster.embedded())
      ),
    onSome: (path) =>
      pods.pipe(Layer.provideMerge(Cluster.client), Layer.provideMerge(Cluster.existing({ kubeconfig: path })))
  })

/** The kinds, the namespaces and the admin's Secret: what a platform team does before it installs the operator. */
export const prepare = Effect.fn("Stage.prepare")(function* () {
  const client = yield* Client
  const timeline = yield* Timeline
  const present = yield* Effect.option(client.get(Builtin.Namespace, { name: managementNamespace }))
  if (Option.isSome(present)) return yield* new AlreadyInstalled()
  for (const crd of Crds.all) {
    yield* client.apply(Builtin.CustomResourceDefinition, crd, { fieldManager: "quickstart", force: true })
  }
  yield* Effect.forEach(Crds.all, ({ metadata }) => established(metadata.name), { concurrency: "unbounded" })
  yield* Manifests.apply("namespaces.yaml")
  const { host, port, provisioner } = yield* Postgres.Postgres
  yield* client.create(Builtin.Secret, {
    metadata: { name: "postgres-admin", namespace: sharedNamespace },
    stringData: { host, port: String(port), user: provisioner.user, password: provisioner.password }
  })
  yield* timeline.note(`the Secret ${sharedNamespace}/postgres-admin says how to reach PostgreSQL on port ${port}`)
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
