/** Stands for Argo CD's application-controller: in each turn it compares and syncs every Application, and says so as that does. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { Effect, Layer } from "effect"
import * as ArgoCd from "../../../src/ArgoCd.ts"
import * as Kinds from "../../../src/internal/cd/argo/kinds.ts"
import { openDefinition } from "./definitions.ts"
import { catalogue, giveUp, tokenOf } from "./fakeHelmTool.ts"
import {
  type Call,
  callTo,
  credentials,
  HelmError,
  type Json,
  mergePatch,
  type Rendered,
  render
} from "./fakeReleases.ts"
import { Tool } from "./tool.ts"

export const namespace = "argocd"
const group = `/apis/argoproj.io/v1alpha1/namespaces/${namespace}`
const collection = `${group}/applications`

interface Spec extends Json {
  readonly project: string
  readonly source: {
    readonly repoURL: string
    readonly targetRevision: string
    readonly helm: { readonly releaseName: string; readonly valuesObject: Json }
  }
  readonly destination: { readonly namespace: string }
  readonly ignoreDifferences?: unknown
  readonly syncPolicy: { readonly automated?: unknown; readonly retry?: { readonly limit?: number } }
}

interface Application {
  readonly metadata: {
    readonly name: string
    readonly deletionTimestamp?: string
    readonly finalizers?: ReadonlyArray<string>
  }
  readonly spec: Spec
}

const everything = { balanced: true, workload: true }

const pathOf = ({ collection: path, object }: Rendered): string =>
  `${path}/${(object["metadata"] as { readonly name: string }).name}`

const objectsOf = ({ destination, source }: Spec, values: Json): ReadonlyArray<Rendered> =>
  render(source.helm.releaseName, destination.namespace, values, source.targetRevision)

const remove = async (call: Call, { metadata, spec }: Application): Promise<void> => {
  const path = `${collection}/${metadata.name}`
  if (metadata.finalizers === undefined) return
  const objects = objectsOf(spec, everything)
  for (const each of objects) await call("DELETE", pathOf(each))
  const left = await Promise.all(objects.map((each) => call("GET", pathOf(each))))
  if (left.every(({ code }) => code === 404)) await call("PATCH", path, { metadata: { finalizers: null } }, mergePatch)
}

interface Health {
  readonly spec?: { readonly type?: string }
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: ReadonlyArray<unknown> }
    readonly conditions?: ReadonlyArray<{ readonly reason: string }>
  }
}

const healthOf = ({ spec, status }: Health): string => {
  if (status?.conditions?.some(({ reason }) => reason === "ProgressDeadlineExceeded") === true) return "Degraded"
  return spec?.type === "LoadBalancer" && status?.loadBalancer?.ingress === undefined ? "Progressing" : "Healthy"
}

interface Project {
  readonly spec?: {
    readonly destinations: ReadonlyArray<{ readonly namespace: string }>
    readonly clusterResourceWhitelist: ReadonlyArray<unknown>
  }
}

/** What the project does not let through, as a sync reports it. The default project lets everything through. */
const refusedBy = (
  { destination, project: name }: Spec,
  { spec }: Project,
  objects: ReadonlyArray<Rendered>
): ReadonlyArray<Json> =>
  objects.flatMap(({ object }): ReadonlyArray<Json> => {
    const { name: of, namespace: at } = object["metadata"] as { readonly name: string; readonly namespace?: string }
    const about = {
      kind: object["kind"],
      name: of,
      // That of the Application for what lives in none.
      namespace: at ?? destination.namespace,
      status: "SyncFailed"
    }
    if (spec === undefined) return []
    if (at === undefined) {
      const message = `resource rbac.authorization.k8s.io:${String(object["kind"])} is not permitted in project ${name}`
      return spec.clusterResourceWhitelist.length > 0 ? [] : [{ ...about, message }]
    }
    const isThere = spec.destinations.some((each) => each.namespace === at)
    return isThere ? [] : [{ ...about, message: `namespace ${at} is not permitted in project '${name}'` }]
  })

const sync = async (call: Call, { spec }: Application): Promise<Json> => {
  const { destination, ignoreDifferences, source } = spec
  const comparedTo = { source, destination, ...(ignoreDifferences === undefined ? {} : { ignoreDifferences }) }
  try {
    if (!existsSync(join(fileURLToPath(source.repoURL), `demo-${source.targetRevision}.tgz`))) {
      throw new HelmError(`chart "demo" version "${source.targetRevision}" not found`)
    }
    const objects = objectsOf(spec, source.helm.valuesObject)
    const project: Project = await call("GET", `${group}/appprojects/${spec.project}`)
    const resources = refusedBy(spec, project, objects)
    if (resources.length > 0) {
      const message = "one or more synchronization tasks are not valid"
      // Where nobody says how often, it tries again, and the sync goes on.
      const { limit = 0 } = spec.syncPolicy.retry ?? { limit: 5 }
      const phase = limit === 0 ? "Failed" : "Running"
      return {
        sync: { status: "OutOfSync", comparedTo },
        health: { status: "Healthy" },
        operationState: { phase, message, syncResult: { source, resources } }
      }
    }
    for (const each of objects) {
      await call("PATCH", `${pathOf(each)}?fieldManager=argocd&force=true`, each.object, "application/apply-patch+yaml")
    }
    const live = await Promise.all(objects.map((each) => call("GET", pathOf(each))))
    const healths = live.map(healthOf)
    const worst = ["Degraded", "Progressing"].find((each) => healths.includes(each)) ?? "Healthy"
    return {
      sync: { status: "Synced", comparedTo },
      health: { status: worst },
      conditions: [],
      operationState: { phase: "Succeeded", syncResult: { source } },
      resources: objects.map(({ object }) => {
        const [group, version] = String(object["apiVersion"]).includes("/")
          ? String(object["apiVersion"]).split("/")
          : ["", String(object["apiVersion"])]
        const { name } = object["metadata"] as { readonly name: string }
        return { group, version, kind: object["kind"], namespace: destination.namespace, name }
      })
    }
  } catch (error) {
    if (!(error instanceof HelmError)) throw error
    const message = `Failed to load target state: failed to generate manifest: ${error.message}`
    return {
      sync: { status: "Unknown", comparedTo },
      // An application that ran before still looks well.
      health: { status: "Healthy" },
      conditions: [{ type: "ComparisonError", message }]
    }
  }
}

/** To begin a sync it writes the whole Application, and leaves out what is nothing to it. */
const asWritten = ({ syncPolicy, ...spec }: Spec): Json => {
  const { retry, ...policy } = syncPolicy
  const written = retry === undefined ? {} : { retry: retry.limit === 0 ? {} : retry }
  return { ...spec, syncPolicy: { ...policy, ...written } }
}

const turn = async (call: Call, each: Application): Promise<void> => {
  if (each.metadata.deletionTimestamp !== undefined) return remove(call, each)
  const path = `${collection}/${each.metadata.name}`
  const status = await sync(call, each)
  await call("PUT", path, { ...(await call("GET", path)), spec: asWritten(each.spec) })
  const annotations = { "argocd.argoproj.io/refresh": null }
  // What was asked for is under way, or over.
  await call("PATCH", path, { metadata: { annotations }, operation: null }, mergePatch)
  await call("PATCH", path, [{ op: "add", path: "/status", value: status }], "application/json-patch+json")
}

/** Everything that there is to do, once. */
const turns = Effect.map(Cluster.Cluster, ({ connection }) => {
  const call = callTo(connection.server, credentials(tokenOf(connection)))
  return Effect.promise(async () => {
    const { items } = await call("GET", collection)
    for (const each of items as ReadonlyArray<Application>) await turn(call, each)
  })
})

/** The Applications of a namespace, as far as anybody but Argo CD writes them. */
export const argoRecords = (namespaceOfReleases: string) =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const { items } = yield* client.list(Kinds.Application, { namespace })
    return items
      .filter(({ spec }) => spec.destination["namespace"] === namespaceOfReleases)
      .map(({ metadata, spec }) => JSON.stringify([metadata.uid, metadata.labels, metadata.annotations, spec]))
  }).pipe(Effect.orDie)

const defined = Effect.gen(function* () {
  const client = yield* Client.Client
  yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
  yield* client.create(Builtin.CustomResourceDefinition, openDefinition(Kinds.Application, { status: false }))
  yield* client.create(Builtin.CustomResourceDefinition, openDefinition(Kinds.AppProject, { status: false }))
})

const tool = Layer.effect(
  Tool,
  Effect.gen(function* () {
    yield* Effect.orDie(defined)
    // Nothing is done outside of turns.
    return { catalogue, giveUp, records: argoRecords, without: (effect) => effect, pause: yield* turns }
  })
)

export const fakeArgoCd = Layer.merge(tool, ArgoCd.layer({ namespace }))
