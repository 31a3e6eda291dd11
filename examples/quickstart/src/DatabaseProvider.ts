/** A database provider beside the operator: what its platform team does, and what the operator's team gets of it. */
import { createHash, randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as BootstrapSql from "@berth/db-provider/BootstrapSql"
import * as Crds from "@berth/db-provider/Crds"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Certificate from "@berth/testing/Certificate"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { Effect, Redacted } from "effect"
import * as Manifests from "./Manifests.ts"
import * as ProgramProcess from "./ProgramProcess.ts"
import { databaseNamespace, define, sharedNamespace } from "./Stage.ts"

const main = fileURLToPath(new URL("../../../packages/db-provider/src/main.ts", import.meta.url))

/** A provider that serves: what whoever uses it needs to know. */
export interface DatabaseProvider extends ProgramProcess.ProgramProcess {
  readonly endpoint: string
  readonly caBundle: string
}

export interface Options {
  /** Port 0, the default, takes a free one. */
  readonly port?: number
  readonly log?: (chunk: Buffer) => void
}

/** A certificate of its own, as files: kubelet would mount them from a Secret. */
const certificate = Effect.gen(function* () {
  const folder = yield* LocalProcess.temporaryFolder("berth-quickstart")
  const { cert, key } = Certificate.selfSigned()
  const files = { certificateFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") }
  writeFileSync(files.certificateFile, cert)
  writeFileSync(files.keyFile, key, { mode: 0o600 })
  return { ...files, caBundle: cert }
})

/** Starts the provider, again and again if need be: it has the same certificate each time. */
export const make = Effect.fn("DatabaseProvider.make")(function* (kubeconfig: string, { log, port = 0 }: Options = {}) {
  const { caBundle, certificateFile, keyFile } = yield* certificate
  const options: ProgramProcess.Options = {
    program: "database provider",
    main,
    args: [
      "--kubeconfig",
      kubeconfig,
      "--namespace",
      databaseNamespace,
      `--api-listen=127.0.0.1:${port}`,
      `--tls-certificate=${certificateFile}`,
      `--tls-key=${keyFile}`,
      "--drain=0 seconds"
    ],
    says: /the API is on ([^\s"]+)/u,
    log
  }
  const started = Effect.map(ProgramProcess.start(options), (process): DatabaseProvider => ({
    ...process,
    endpoint: `https://${process.address}`,
    caBundle
  }))
  return { start: started }
})

/** Its kinds, and the server's side: a role that may make databases. What a platform team does before it installs the provider. */
export const prepare = Effect.fn("DatabaseProvider.prepare")(function* () {
  yield* define(Crds.all)
  const client = yield* Client
  const server = yield* Postgres.Postgres
  const password = randomBytes(16).toString("hex")
  const address = { host: server.host, port: server.port, sslmode: "disable" } as const
  const text = yield* BootstrapSql.make({
    shard: Identifier.of("quickstart"),
    primary: { ...address, user: "berth_provisioner", database: "postgres" },
    endpoint: address,
    password: Redacted.make(password),
    ownership: "provider",
    template: "template0",
    limits: { roleConnections: 20, databaseConnections: 25 }
  })
  yield* server.query(text)
  // Nobody gets into it any more who was not let in, and the other administrator works from there.
  yield* server.query(`grant connect on database postgres to "${server.provisioner.user}"`)
  yield* client.create(Builtin.Secret, {
    metadata: { name: "provisioner", namespace: databaseNamespace },
    stringData: { password }
  })
})

/** A server for databases, and a consumer that may ask for them; its token goes to the operator's cluster. */
export const introduce = Effect.fn("DatabaseProvider.introduce")(function* ({
  caBundle,
  endpoint
}: Pick<DatabaseProvider, "caBundle" | "endpoint">) {
  const client = yield* Client
  const { host, port } = yield* Postgres.Postgres
  const token = randomBytes(24).toString("hex")
  const sha256 = createHash("sha256").update(token).digest("hex")
  yield* client.create(Builtin.Secret, {
    metadata: { name: "token-of-quickstart", namespace: databaseNamespace },
    stringData: { sha256 }
  })
  yield* client.create(Builtin.Secret, {
    metadata: { name: "databases", namespace: sharedNamespace },
    stringData: { token }
  })
  yield* Manifests.applyWith("database-provider.yaml", { PGHOST: host, PGPORT: port })
  yield* Manifests.applyWith("databases.yaml", { ENDPOINT: endpoint, CA_BUNDLE: caBundle })
})
