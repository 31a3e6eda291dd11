/** Stands for Flux's controllers: in each turn it does with every HelmRelease what they do, and reports it as they do. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { Effect, Layer } from "effect"
import * as Flux from "../../../src/Flux.ts"
import * as Kinds from "../../../src/internal/cd/flux/kinds.ts"
import { openDefinition } from "./definitions.ts"
import { catalogue, giveUp, tokenOf } from "./fakeHelmTool.ts"
import { type Call, callTo, credentials, HelmError, type Json, mergePatch, releaseOf } from "./fakeReleases.ts"
import { fluxRecords } from "./fluxRecords.ts"
import { Tool } from "./tool.ts"

export const namespace = "flux-system"
const group = "/apis/helm.toolkit.fluxcd.io/v2"
const sources = `/apis/source.toolkit.fluxcd.io/v1/namespaces/${namespace}`
/** Flux's own has no domain, which the embedded API refuses. */
const finalizer = "fluxcd.io/finalizers"

interface Spec extends Json {
  readonly suspend?: boolean
  readonly serviceAccountName?: string
  readonly releaseName: string
  readonly targetNamespace: string
  readonly chart?: { readonly spec: { readonly version: string; readonly sourceRef: { readonly name: string } } }
  readonly values: Json
  readonly valuesFrom?: ReadonlyArray<{ readonly name: string; readonly valuesKey: string }>
}

interface HelmRelease {
  readonly metadata: {
    readonly name: string
    readonly generation: number
    readonly deletionTimestamp?: string
    readonly finalizers?: ReadonlyArray<string>
  }
  readonly spec: Spec
  readonly status?: { readonly observedGeneration?: number }
}

const valuesOf = async (call: Call, { values, valuesFrom = [] }: Spec): Promise<Json> => {
  const parts = valuesFrom.map(async ({ name, valuesKey }): Promise<Json> => {
    const { data } = await call("GET", `/api/v1/namespaces/${namespace}/secrets/${name}`)
    const text = Buffer.from((data as Record<string, string>)[valuesKey] ?? "", "base64").toString("utf8")
    return JSON.parse(text) as Json
  })
  return Object.assign({}, ...(await Promise.all(parts)), values) as Json
}

const condition = (type: string, status: string, reason: string, message: string, generation: number) => ({
  type,
  status,
  reason,
  message,
  observedGeneration: generation,
  lastTransitionTime: "2026-01-01T00:00:00Z"
})

/** Whether the source has this chart; false as well while there is no source. */
const isThere = async (call: Call, { chart }: Spec): Promise<boolean> => {
  const repository = await call("GET", `${sources}/helmrepositories/${chart?.spec.sourceRef.name}`)
  const { url } = (repository["spec"] ?? {}) as { readonly url?: string }
  return url !== undefined && existsSync(join(fileURLToPath(url), `demo-${chart?.spec.version}.tgz`))
}

/** Calls as Flux itself, or as the account that a HelmRelease names. */
type Calls = (account?: string) => Call

const releaseFor = (calls: Calls, { releaseName, serviceAccountName, targetNamespace }: Spec) =>
  releaseOf(calls(serviceAccountName), targetNamespace, releaseName)

const deploy = async (calls: Calls, { metadata, spec }: HelmRelease) => {
  const release = releaseFor(calls, spec)
  const { generation } = metadata
  const labels = {}
  try {
    const values = await valuesOf(calls(), spec)
    const version = await release.upgrade({ values, version: spec.chart?.spec.version ?? "", labels, historyMax: 5 })
    return {
      history: [{ version, status: "deployed" }],
      conditions: [
        condition("Ready", "True", "UpgradeSucceeded", "done", generation),
        condition("Released", "True", "UpgradeSucceeded", "done", generation)
      ]
    }
  } catch (error) {
    if (!(error instanceof HelmError)) throw error
    return {
      conditions: [
        condition("Ready", "Unknown", "RetryAfterInterval", "Will retry after 1m0s", generation),
        condition("Released", "False", "UpgradeFailed", `Helm upgrade failed: ${error.message}`, generation)
      ]
    }
  }
}

const turn = async (calls: Calls, each: HelmRelease): Promise<void> => {
  const { metadata, spec, status } = each
  const call = calls()
  const path = `${group}/namespaces/${namespace}/helmreleases/${metadata.name}`
  if (metadata.deletionTimestamp !== undefined) {
    const release = releaseFor(calls, spec)
    // A suspended one is let go with everything that it deployed.
    if (spec.suspend !== true && (await release.history()).length > 0) await release.uninstall(true)
    await call("PATCH", path, { metadata: { finalizers: null } }, mergePatch)
    return
  }
  if (spec.suspend === true) return
  if (metadata.finalizers === undefined) {
    await call("PATCH", path, { metadata: { finalizers: [finalizer] } }, mergePatch)
  }
  if (status?.observedGeneration === metadata.generation || !(await isThere(call, spec))) return
  const report = await deploy(calls, each)
  await call("PATCH", `${path}/status`, { status: { observedGeneration: metadata.generation, ...report } }, mergePatch)
}

/** Everything that there is to do, once. */
export const turns = Effect.map(Cluster.Cluster, ({ connection }) => {
  const calls: Calls = (account) =>
    callTo(
      connection.server,
      credentials(tokenOf(connection), account && `system:serviceaccount:${namespace}:${account}`)
    )
  return Effect.promise(async () => {
    const { items } = await calls()("GET", `${group}/helmreleases`)
    for (const each of items as ReadonlyArray<HelmRelease>) await turn(calls, each)
  })
})

const defined = Effect.gen(function* () {
  const client = yield* Client.Client
  yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
  const types = [Kinds.HelmRelease, Kinds.HelmChart, Kinds.HelmRepository, Kinds.OciRepository, Kinds.GitRepository]
  yield* Effect.forEach(types, (type) => client.create(Builtin.CustomResourceDefinition, openDefinition(type)))
})

const tool = Layer.effect(
  Tool,
  Effect.gen(function* () {
    yield* Effect.orDie(defined)
    // Nothing is done outside of turns.
    return { catalogue, giveUp, records: fluxRecords(namespace), without: (effect) => effect, pause: yield* turns }
  })
)

export const fakeFlux = Layer.merge(tool, Flux.layer({ namespace }))
