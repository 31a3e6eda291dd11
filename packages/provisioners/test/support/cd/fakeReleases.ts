/**
 * What Helm does with the suite's chart, as far as a driver can tell: it renders nothing, but writes the same objects and the same
 * records. The driver suite runs on this and on the real one, which keeps the two alike.
 */
import { gzipSync } from "node:zlib"

export type Json = Record<string, unknown>

interface Stored {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
}

/** A request to the API server, and its answer. */
export type Call = (method: string, path: string, body?: object, type?: string) => Promise<Json>

/** What helm says before it ends badly. */
export class HelmError extends Error {}

const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

export const mergePatch = "application/merge-patch+json"

type Headers = Readonly<Record<string, string>>

/** With a token, and for somebody else where that is said. */
export const credentials = (token: string | undefined, user?: string): Headers => ({
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...(user === undefined ? {} : { "impersonate-user": user })
})

export const callTo =
  (server: string, headers: Headers = {}): Call =>
  async (method, path, body, type = "application/json") => {
    const answer = await fetch(`${server}${path}`, {
      method,
      headers: { ...headers, "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const result = (await answer.json()) as Json
    if (answer.status === 403) throw new HelmError(text(result["message"]))
    if (!answer.ok && answer.status !== 404) throw new Error(`${method} ${path}: ${text(result["message"])}`)
    return result
  }

export interface Rendered {
  readonly collection: string
  readonly object: Json
}

const rbac = "/apis/rbac.authorization.k8s.io/v1"

/** Would make the namespace's accounts administrators of the cluster. */
const admin = (namespace: string): Json => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: `${namespace}-evil` },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "ServiceAccount", name: "default", namespace }]
})

const nameOf = (object: Json): string => (object["metadata"] as { readonly name: string }).name

/** What the suite's chart comes to, or why it does not. */
export const render = (name: string, namespace: string, values: Json, version: string): ReadonlyArray<Rendered> => {
  if (values["fail"] !== undefined && values["fail"] !== "") {
    const told = `this chart was told to fail: ${text(values["fail"])}`
    throw new HelmError(`execution error at (demo/templates/demo.yaml:2:4): ${told}`)
  }
  const core = `/api/v1/namespaces/${namespace}`
  const labels = { app: name }
  const metadata = { name, namespace }
  const finalizers = values["held"] === true ? { finalizers: ["berth.dev/test"] } : {}
  const data = { greeting: text(values["greeting"] ?? "hello"), version }
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { ...metadata, ...finalizers }, data }
  const ports = [{ port: 80, targetPort: 80, protocol: "TCP" }]
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { type: "LoadBalancer", selector: labels, ports }
  }
  const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "app" }] } }
  const spec = { progressDeadlineSeconds: 1, selector: { matchLabels: labels }, template }
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec }
  const elsewhere = text(values["elsewhere"] ?? "")
  const beside = { ...configMap, metadata: { name: `${namespace}-evil`, namespace: elsewhere } }
  return [
    { collection: `${core}/configmaps`, object: configMap },
    ...(values["cluster"] === true ? [{ collection: `${rbac}/clusterrolebindings`, object: admin(namespace) }] : []),
    ...(elsewhere === "" ? [] : [{ collection: `/api/v1/namespaces/${elsewhere}/configmaps`, object: beside }]),
    ...(values["balanced"] === true ? [{ collection: `${core}/services`, object: service }] : []),
    ...(values["workload"] === true
      ? [{ collection: `/apis/apps/v1/namespaces/${namespace}/deployments`, object: deployment }]
      : [])
  ]
}

const packed = (release: Json): string =>
  Buffer.from(gzipSync(JSON.stringify(release)).toString("base64"), "utf8").toString("base64")

/** One release of the suite's chart. */
export const releaseOf = (call: Call, namespace: string, name: string) => {
  const secrets = `/api/v1/namespaces/${namespace}/secrets`
  const numberOf = ({ metadata }: Stored) => Number(metadata.labels["version"])

  const history = async (): Promise<ReadonlyArray<Stored>> => {
    const { items } = await call("GET", `${secrets}?labelSelector=owner%3Dhelm%2Cname%3D${name}`)
    return (items as ReadonlyArray<Stored>).toSorted((a, b) => numberOf(a) - numberOf(b))
  }
  const mark = ({ metadata }: Stored, status: string) =>
    call("PATCH", `${secrets}/${metadata.name}`, { metadata: { labels: { status } } }, mergePatch)
  const remove = ({ metadata }: Stored) => call("DELETE", `${secrets}/${metadata.name}`)

  const record = (number: number, status: string, labels: Readonly<Record<string, string>>, manifest: string) => {
    const system = {
      name,
      owner: "helm",
      status,
      version: String(number),
      createdAt: String(Math.floor(Date.now() / 1000))
    }
    const release = { name, info: { description: status, status }, manifest, version: number, namespace }
    return call("POST", secrets, {
      metadata: { name: `sh.helm.release.v1.${name}.v${number}`, labels: { ...labels, ...system } },
      type: "helm.sh/release.v1",
      data: { release: packed(release) }
    })
  }

  const upgrade = async (wanted: {
    readonly values: Json
    readonly version: string
    readonly labels: Readonly<Record<string, string>>
    readonly historyMax: number
  }): Promise<number> => {
    const { historyMax, labels, values, version } = wanted
    const revisions = await history()
    const last = revisions.at(-1)
    if (last?.metadata.labels["status"]?.startsWith("pending-") === true) {
      throw new HelmError("another operation (install/upgrade/rollback) is in progress")
    }
    const number = (last === undefined ? 0 : numberOf(last)) + 1
    // Helm renders before it records anything.
    const objects = render(name, namespace, values, version)
    for (const { collection, object } of objects) {
      const path = `${collection}/${nameOf(object)}`
      await call("PATCH", `${path}?fieldManager=helm&force=true`, object, "application/apply-patch+yaml")
    }
    const manifest = objects.map(({ object }) => `---\n# Source: demo/templates/demo.yaml\n${JSON.stringify(object)}\n`)
    for (const each of revisions) if (each.metadata.labels["status"] === "deployed") await mark(each, "superseded")
    await record(number, "deployed", labels, manifest.join(""))
    await Promise.all(revisions.slice(0, Math.max(0, revisions.length + 1 - historyMax)).map(remove))
    return number
  }

  const uninstall = async (keepHistory: boolean): Promise<void> => {
    const revisions = await history()
    const last = revisions.at(-1)
    if (last === undefined) throw new HelmError("uninstall: Release not loaded: release: not found")
    if (last.metadata.labels["status"] !== "uninstalled") {
      const all = { balanced: true, workload: true }
      await Promise.all(
        render(name, namespace, all, "").map(({ collection }) => call("DELETE", `${collection}/${name}`))
      )
      if (keepHistory) return void (await mark(last, "uninstalled"))
    } else if (keepHistory) throw new HelmError(`the release named "${name}" is already deleted`)
    await Promise.all(revisions.map(remove))
  }

  return { upgrade, uninstall, history }
}
