/** The database provider as it is started in an image, the cluster and the shard that it finds, and whoever asks it for databases. */
import { createHash, randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Provider from "@berth/db-provider/client"
import { Consumer } from "@berth/db-provider/Consumer"
import * as Crds from "@berth/db-provider/Crds"
import { Shard } from "@berth/db-provider/Shard"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Await from "@berth/testing/Await"
import * as Certificate from "@berth/testing/Certificate"
import * as Cluster from "@berth/testing/Cluster"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted, Schedule } from "effect"
import * as berth from "../../../packages/operator/test/support/berth.ts"

export const namespace = "berth-db"
export const released = (name: string) => ({ name, namespace })

/** Where `setup.ts` put it. */
const image = process.env["BERTH_TEST_PROVIDER"] ?? ""
const command = [process.execPath, join(image, "berth-db-provider.js")] as const

/** Runs a command that needs no cluster to its end. */
export const runAlone = (...args: ReadonlyArray<string>) => berth.run(args, { command })

/** Runs a command to its end. */
export const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const kubeconfig = yield* (yield* Cluster.Cluster).kubeconfigFile
  return yield* runAlone(...args, "--kubeconfig", kubeconfig, "--namespace", namespace)
})

const encoded = (text: string) => Buffer.from(text, "utf8").toString("base64")
const token = randomBytes(32).toString("base64url")
const certificate = Certificate.selfSigned()

/** What of a Shard differs from one test to another. */
export type ShardSpec = Partial<(typeof Shard)["spec"]["Encoded"]>

/** What a platform team makes before it starts the provider, with the provider's own commands. */
export const installed = Effect.fnUntraced(function* (spec: ShardSpec = {}) {
  const client = yield* Client
  const postgres = yield* Postgres.Postgres
  yield* Effect.forEach(Crds.all, (crd) => client.create(Builtin.CustomResourceDefinition, crd))
  yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
  const data = { password: encoded("a password of the provisioner") }
  yield* client.create(Builtin.Secret, { metadata: released("shard-a"), data })
  const sha256 = createHash("sha256").update(token).digest("hex")
  yield* client.create(Builtin.Secret, { metadata: released("ci-token"), data: { sha256: encoded(sha256) } })
  const address = { host: postgres.host, port: postgres.port, sslmode: "disable" } as const
  yield* client.create(Shard, {
    metadata: { name: "shard-a" },
    spec: {
      primary: address,
      endpoint: address,
      provisionerSecretRef: { name: "shard-a", key: "password" },
      ...spec
    }
  })
  yield* client.create(Consumer, {
    metadata: { name: "ci" },
    spec: {
      tokens: [{ name: "one", sha256SecretRef: { name: "ci-token", key: "sha256" } }],
      quota: { maxDatabases: 1_000 }
    }
  })
  const { code, stderr, stdout } = yield* run("bootstrap-sql", "--shard", "shard-a")
  assert.deepInclude({ code, stderr }, { code: 0, stderr: "" }, stdout)
  yield* postgres.query(stdout)
})

const files = Effect.map(LocalProcess.temporaryFolder("berth-provider"), (folder) => {
  const [cert, key] = [join(folder, "tls.crt"), join(folder, "tls.key")]
  writeFileSync(cert, certificate.cert)
  writeFileSync(key, certificate.key)
  return ["--tls-certificate", cert, "--tls-key", key]
})

/** Starts a replica, and waits until it serves. */
export const start = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const kubeconfig = yield* (yield* Cluster.Cluster).kubeconfigFile
  const anywhere = ["--listen", "127.0.0.1:0", "--api-listen", "127.0.0.1:0"]
  const where = ["--kubeconfig", kubeconfig, "--namespace", namespace]
  const replica = yield* berth.start(["run", ...where, ...anywhere, ...(yield* files), ...args], { command })
  const [, health = ""] = yield* replica.says(/health and metrics are on ([^\s"]+)/u)
  const [, api = ""] = yield* replica.says(/the API is on ([^\s"]+)/u)
  const get = (path: string) =>
    Effect.promise(async () => {
      const response = await fetch(`http://${health}${path}`, { headers: { connection: "close" } })
      return { status: response.status, body: await response.text() }
    })
  /** Asks until the answer is as awaited: nothing tells of it. */
  const until = (path: string, holds: (answer: { readonly status: number; readonly body: string }) => boolean) =>
    Effect.repeat(get(path), { until: holds, schedule: Schedule.spaced("50 millis") })
  yield* until("/readyz", ({ status }) => status === 200)
  return { ...replica, api, get, until }
})

export type Replica = Effect.Success<ReturnType<typeof start>>

const isLeader = /^leader_election_master_status\{name="berth-db-provider"\} 1$/mu

export const leads = (replica: Replica) => replica.until("/metrics", ({ body }) => isLeader.test(body))

/** The shard is looked at by whoever leads. */
export const shardReady = Await.until(
  Shard,
  { name: "shard-a" },
  ({ status }) => status?.conditions?.some(({ status, type }) => type === "Ready" && status === "True") ?? false
)

/** Whoever has the token. */
export const client = (address: string) =>
  Provider.make({ baseUrl: `https://${address}`, token: Redacted.make(token), caBundle: certificate.cert })

export const secrets = [token, "a password of the provisioner"]

export const stage = Layer.mergeAll(Cluster.embeddedWithClient(), Postgres.layer())
