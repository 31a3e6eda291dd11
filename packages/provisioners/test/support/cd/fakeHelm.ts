#!/usr/bin/env node
/**
 * Behaves as `helm` does with the suite's chart, as far as the driver can tell: it renders nothing, but writes the same objects and
 * the same records. The driver suite runs on it and on the real one, which keeps the two alike.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"

type Json = Record<string, unknown>
interface Stored {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly data: { readonly release: string }
}

const [verb = "", name = "", ...rest] = process.argv.slice(2)
const after = (flag: string): string => rest[rest.indexOf(flag) + 1] ?? ""
const namespace = after("--namespace")

const config = JSON.parse(readFileSync(process.env["KUBECONFIG"] ?? "", "utf8"))
const { server } = config.clusters[0].cluster
const { token } = config.users[0].user
const headers = {
  "content-type": "application/json",
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
}
const call = async (method: string, path: string, body?: object, type = "application/json"): Promise<Json> => {
  const answer = await fetch(`${server}${path}`, {
    method,
    headers: { ...headers, "content-type": type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return (await answer.json()) as Json
}

const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

const die = (problem: string): never => {
  process.stderr.write(`Error: ${problem}\n`)
  process.exit(1)
}

const secrets = `/api/v1/namespaces/${namespace}/secrets`
const history = async (): Promise<ReadonlyArray<Stored>> => {
  const { items } = (await call("GET", `${secrets}?labelSelector=owner%3Dhelm%2Cname%3D${name}`)) as {
    items: ReadonlyArray<Stored>
  }
  return items.toSorted((a, b) => Number(a.metadata.labels["version"]) - Number(b.metadata.labels["version"]))
}

const objectsOf = (values: Json, version: string): ReadonlyArray<{ readonly path: string; readonly object: Json }> => {
  const app = { app: name }
  const metadata = { name, namespace }
  const finalizers = values["held"] === true ? { finalizers: ["berth.dev/test"] } : {}
  const greeting = text(values["greeting"] ?? "hello")
  return [
    {
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      object: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { ...metadata, ...finalizers },
        data: { greeting, version }
      }
    },
    ...(values["balanced"] === true
      ? [
          {
            path: `/api/v1/namespaces/${namespace}/services`,
            object: {
              apiVersion: "v1",
              kind: "Service",
              metadata,
              spec: { type: "LoadBalancer", selector: app, ports: [{ port: 80, targetPort: 80, protocol: "TCP" }] }
            }
          }
        ]
      : []),
    ...(values["workload"] === true
      ? [
          {
            path: `/apis/apps/v1/namespaces/${namespace}/deployments`,
            object: {
              apiVersion: "apps/v1",
              kind: "Deployment",
              metadata,
              spec: {
                progressDeadlineSeconds: 1,
                selector: { matchLabels: app },
                template: { metadata: { labels: app }, spec: { containers: [{ name: "app", image: "app" }] } }
              }
            }
          }
        ]
      : [])
  ]
}

const packed = (release: Json): string =>
  Buffer.from(gzipSync(JSON.stringify(release)).toString("base64"), "utf8").toString("base64")

const mark = (stored: Stored, status: string) =>
  call(
    "PATCH",
    `${secrets}/${stored.metadata.name}`,
    { metadata: { labels: { status } } },
    "application/merge-patch+json"
  )

const record = async (number: number, status: string, values: Json, manifest: string) => {
  const labels = Object.fromEntries(
    after("--labels")
      .split(",")
      .map((pair) => pair.split("="))
  )
  const release = { name, info: { description: status, status }, config: values, manifest, version: number, namespace }
  await call("POST", secrets, {
    metadata: {
      name: `sh.helm.release.v1.${name}.v${number}`,
      labels: {
        ...labels,
        name,
        owner: "helm",
        status,
        version: String(number),
        createdAt: String(Math.floor(Date.now() / 1000))
      }
    },
    type: "helm.sh/release.v1",
    data: { release: packed(release) }
  })
}

const upgrade = async () => {
  const folder = fileURLToPath(after("--repo"))
  const version = after("--version")
  const journal = join(folder, "journal")
  writeFileSync(journal, `${JSON.stringify(process.argv.slice(2))}\n`, { flag: "a" })
  if (!existsSync(join(folder, `demo-${version}.tgz`)))
    die(`chart "demo" version "${version}" not found in ${after("--repo")} repository`)
  const values = JSON.parse(readFileSync(after("--values"), "utf8")) as Json
  const revisions = await history()
  const last = revisions.at(-1)
  if (last?.metadata.labels["status"]?.startsWith("pending-") === true) {
    die("another operation (install/upgrade/rollback) is in progress")
  }
  const number = Number(last?.metadata.labels["version"] ?? 0) + 1
  // Helm renders before it records.
  if (values["fail"] !== undefined && values["fail"] !== "") {
    if (number > 1) await record(number, "failed", values, "")
    die(
      `UPGRADE FAILED: execution error at (demo/templates/demo.yaml:2:4): this chart was told to fail: ${text(values["fail"])}`
    )
  }
  const objects = objectsOf(values, version)
  for (const { object, path } of objects) {
    await call("PATCH", `${path}/${name}?fieldManager=helm&force=true`, object, "application/apply-patch+yaml")
  }
  const manifest = objects
    .map(({ object }) => `---\n# Source: demo/templates/demo.yaml\n${JSON.stringify(object)}\n`)
    .join("")
  for (const each of revisions) if (each.metadata.labels["status"] === "deployed") await mark(each, "superseded")
  await record(number, "deployed", values, manifest)
  const surplus = revisions.length + 1 - Number(after("--history-max"))
  for (const each of revisions.slice(0, Math.max(0, surplus))) await call("DELETE", `${secrets}/${each.metadata.name}`)
}

const uninstall = async () => {
  const revisions = await history()
  const last = revisions.at(-1) ?? die("uninstall: Release not loaded: release: not found")
  if (last.metadata.labels["status"] === "uninstalled") {
    if (rest.includes("--keep-history")) die(`the release named "${name}" is already deleted`)
    for (const each of revisions) await call("DELETE", `${secrets}/${each.metadata.name}`)
    return
  }
  await Promise.all(
    ["/api/v1/%/configmaps", "/api/v1/%/services", "/apis/apps/v1/%/deployments"].map((path) =>
      call("DELETE", `${path.replace("%", `namespaces/${namespace}`)}/${name}`)
    )
  )
  await mark(last, "uninstalled")
}

await (verb === "upgrade" ? upgrade() : uninstall())
