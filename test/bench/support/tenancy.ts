/** What a provider has to work with: PostgreSQL servers, their Shards, and a consumer. */
import { createHash, randomBytes } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import * as BootstrapSql from "@berth/db-provider/BootstrapSql"
import { Connector } from "@berth/db-provider/Connector"
import { Consumer } from "@berth/db-provider/Consumer"
import { Shard } from "@berth/db-provider/Shard"
import * as ShardServer from "@berth/db-provider/ShardServer"
import type { Server } from "@berth/testing/Postgres"
import { Effect, Redacted, Schedule } from "effect"
import * as BareRun from "../../../packages/db-provider/test/support/BareRun.ts"

export const namespace = "berth-db"
/** As many as the kinds allow. */
export const placesMax = 10_000

const encoded = (text: string): string => Buffer.from(text, "utf8").toString("base64")
const released = (name: string) => ({ name, namespace })

/** Before anything else. */
export const prepare = Client.use((client) => client.create(Builtin.Namespace, { metadata: { name: namespace } }))

/** A consumer that may have as many databases as there can be, and its token. */
export const consumer = Effect.fnUntraced(function* (name: string) {
  const client = yield* Client
  const token = randomBytes(24).toString("base64url")
  const sha256 = createHash("sha256").update(token).digest("hex")
  yield* client.create(Builtin.Secret, { metadata: released(`token-of-${name}`), data: { sha256: encoded(sha256) } })
  yield* client.create(Consumer, {
    metadata: { name },
    spec: {
      tokens: [{ name: "only", sha256SecretRef: { name: `token-of-${name}`, key: "sha256" } }],
      quota: { maxDatabases: placesMax }
    }
  })
  return token
})

/** A server, prepared as its administrator is told to, as a Shard of this name and label. */
export const shard = Effect.fnUntraced(function* (name: string, postgres: Server) {
  const client = yield* Client
  const address = { host: postgres.host, port: postgres.port, sslmode: "disable" as const }
  const password = randomBytes(24).toString("base64url")
  const secret = `provisioner-of-${name}`
  yield* client.create(Builtin.Secret, { metadata: released(secret), data: { password: encoded(password) } })
  const created = yield* client.create(Shard, {
    metadata: { name, labels: { shard: name } },
    spec: {
      primary: address,
      endpoint: address,
      provisionerSecretRef: { name: secret, key: "password" },
      maxDatabases: placesMax
    }
  })
  const settings = ShardServer.settingsOf(yield* Shard.decode(created), Redacted.make(password))
  yield* postgres.query(yield* BootstrapSql.make(settings))
  return { name, postgres, settings }
})

export type Prepared = Effect.Success<ReturnType<typeof shard>>

const look = Schedule.spaced("50 millis")

/** Waits until databases can be placed there. */
export const ready = Effect.fnUntraced(function* ({ name }: Prepared) {
  const client = yield* Client
  yield* Effect.repeat(client.get(Shard, { name }), {
    schedule: look,
    until: ({ status }) => Conditions.isTrue(status?.conditions, "Ready")
  })
})

/** So many who make tenants by hand. */
export const byHand = ({ settings }: Prepared, workers: number) =>
  BareRun.make(settings, workers).pipe(Effect.provide(Connector.layer()))

/** Removes databases and roles from the server alone: files of thousands of databases fill disks. */
export const drop = ({ postgres }: Prepared, names: ReadonlyArray<string>) =>
  Effect.forEach(
    names,
    (name) =>
      Effect.andThen(postgres.query(`drop database "${name}" with (force)`), postgres.query(`drop role "${name}"`)),
    { concurrency: 4, discard: true }
  )
