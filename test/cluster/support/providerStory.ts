/** What a database provider lives through: a shard that is prepared, a consumer, a database that is deleted in every way, and the end of all. */
import { createHash, randomBytes } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as BootstrapSql from "@berth/db-provider/BootstrapSql"
import * as ProviderClient from "@berth/db-provider/client"
import { Consumer } from "@berth/db-provider/Consumer"
import { Database } from "@berth/db-provider/Database"
import * as Names from "@berth/db-provider/Names"
import { Shard } from "@berth/db-provider/Shard"
import * as ShardServer from "@berth/db-provider/ShardServer"
import * as Await from "@berth/testing/Await"
import type * as Postgres from "@berth/testing/Postgres"
import { Effect, Redacted } from "effect"

const encoded = (text: string) => Buffer.from(text, "utf8").toString("base64")

export interface Places {
  readonly releaseNamespace: string
  readonly defaultNamespace: string
}

/** The kinds' objects live in no namespace: two of these stories are not told at once. */
const shardName = "shard-a"
const consumerName = "ci"

interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }> }
}

export const has =
  (type: string, status: "True" | "False") =>
  (object: Conditioned): boolean =>
    (object.status?.conditions ?? []).some((each) => each.type === type && each.status === status)

/** A shard whose password is wrong at first, twice, and a consumer. Returns the consumer's token. */
const introduced = Effect.fnUntraced(function* (postgres: Postgres.Server, namespace: string) {
  const client = yield* Client
  const { host, port } = postgres
  const address = { host, port, sslmode: "disable" } as const
  const password = randomBytes(16).toString("hex")
  const secret = (text: string) => ({ data: { password: encoded(text) } })
  const ref = { name: "provisioner", namespace }
  const shard = yield* client.create(Shard, {
    metadata: { name: shardName },
    spec: {
      primary: address,
      endpoint: address,
      provisionerSecretRef: { name: ref.name, key: "password" },
      // Long enough to change one's mind in.
      gracePeriod: "8s"
    }
  })
  const settings = ShardServer.settingsOf(yield* Shard.decode(shard), Redacted.make(password))
  yield* postgres.query(yield* BootstrapSql.make(settings))
  yield* client.create(Builtin.Secret, { metadata: ref, ...secret("wrong") })
  const given = (text: string) => client.patch(Builtin.Secret, ref, { type: "merge", patch: secret(text) })
  const isSeen = (status: "True" | "False") => Await.until(Shard, { name: shardName }, has("Reachable", status))
  yield* isSeen("False")
  yield* given(password)
  yield* isSeen("True")
  yield* given("wrong again")
  yield* isSeen("False")
  yield* given(password)
  yield* Await.until(Shard, { name: shardName }, has("Ready", "True"))
  const token = randomBytes(32).toString("hex")
  const digest = createHash("sha256").update(token).digest("hex")
  yield* client.create(Builtin.Secret, { metadata: { name: "tokens", namespace }, data: { main: encoded(digest) } })
  yield* client.create(Consumer, {
    metadata: { name: consumerName },
    spec: { tokens: [{ name: "main", sha256SecretRef: { name: "tokens", key: "main" } }] }
  })
  yield* Await.until(Consumer, { name: consumerName }, has("Ready", "True"))
  return token
})

const codeOf = (error: ProviderClient.Refused | { readonly _tag: string }): string =>
  "code" in error ? error.code : error._tag

/** Returns what the API said at each turn. */
export const tell = Effect.fnUntraced(function* (
  { releaseNamespace: namespace }: Places,
  postgres: Postgres.Server,
  api: { readonly baseUrl: string; readonly caBundle: string }
) {
  const client = yield* Client
  const token = yield* introduced(postgres, namespace)
  const provider = yield* ProviderClient.make({ ...api, token: Redacted.make(token) })
  const stranger = yield* ProviderClient.make({ ...api, token: Redacted.make("a-token-of-nobody") })
  const strange = yield* Effect.flip(stranger.get("branch-1"))
  const recordOf = (id: string) => ({ name: Names.record(consumerName, id), namespace })
  const isIn = (id: string, phase: string) =>
    Await.until(Database, recordOf(id), ({ status }) => status?.phase === phase)
  const wait = { wait: "30 seconds" } as const

  const made = yield* provider.put("branch-1", wait)
  yield* provider.put("branch-2", wait)
  yield* client.delete(Database, recordOf("branch-1"))
  yield* isIn("branch-1", "Held")
  const held = yield* provider.get("branch-1")
  yield* provider.remove("branch-2", wait)
  const wanted = { op: "remove", path: "/spec/deleteRequestedAt" } as const
  yield* client.patch(Database, recordOf("branch-2"), { type: "json", patch: [wanted] })
  yield* isIn("branch-2", "Ready")
  const removed = yield* provider.remove("branch-1", wait)
  yield* provider.remove("branch-2", wait)
  yield* Await.gone(Database, recordOf("branch-1"))
  yield* Await.gone(Database, recordOf("branch-2"))
  const after = yield* Effect.flip(provider.get("branch-1"))
  yield* client.delete(Consumer, { name: consumerName })
  yield* client.delete(Shard, { name: shardName })
  yield* Await.gone(Consumer, { name: consumerName })
  yield* Await.gone(Shard, { name: shardName })
  return { strange: codeOf(strange), made: made._tag, held: held.phase, removed: removed._tag, after: codeOf(after) }
})
