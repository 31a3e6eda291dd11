import { type AddressInfo, createServer } from "node:net"
import { TLSSocket } from "node:tls"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import * as Certificate from "@berth/testing/Certificate"
import { assert, describe, it, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import * as pgErrors from "../src/internal/pgErrors.ts"
import { explained } from "../src/internal/shards/connection.ts"
import { Unreachable } from "../src/PostgresError.ts"
import * as PostgresFailure from "../src/PostgresFailure.ts"
import { Shard } from "../src/Shard.ts"
import * as Bench from "./support/ProviderBench.ts"
import * as ShardBench from "./support/ShardBench.ts"

type Spec = Parameters<typeof Bench.shard>[1]
type Primary = Partial<NonNullable<NonNullable<Spec>["primary"]>>

const password = "a password of the provisioner"

const conditionsOf = (name: string) =>
  Effect.map(
    Client.use((client) => client.get(Shard, { name })),
    ({ status }) => status?.conditions ?? []
  )

/** Says yes to TLS as PostgreSQL does, and shows this certificate. */
const speakingTls = (certificate: Certificate.Certificate) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer((socket) => {
        socket.on("error", () => undefined)
        socket.once("data", () => {
          socket.write("S")
          new TLSSocket(socket, { isServer: true, ...certificate }).on("error", () => undefined)
        })
      })
      server.listen(0, "0.0.0.0", () => {
        const address: AddressInfo | string | null = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ port, close: () => void server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

describe("Why a shard lets nobody in", { timeout: 60_000 }, () => {
  layer(Bench.world, { timeout: 60_000, excludeTestServices: true })((it) => {
    const roles = [
      `create role turned_away login password '${password}'`,
      `create role full_up login password '${password}' connection limit 0`,
      `create role asleep nologin password '${password}'`
    ]
    const rows: ReadonlyArray<readonly [string, Primary, string, string]> = [
      ["its name does not resolve", { host: "no-such-host.invalid" }, "name_unknown", "no-such-host.invalid"],
      ["nobody listens", { port: 1 }, "connection_refused", "port 1,"],
      ["it has no TLS", { sslmode: "verify-full" }, "no_tls", "primary.sslmode"],
      ["the role is not there, or its password is another", { user: "nobody" }, "password_refused", "provisioner"],
      ["the role may not log in", { user: "asleep" }, "role_refused", "asleep"],
      ["the database is not there", { database: "none_such" }, "database_missing", "none_such"],
      ["the role may not connect", { user: "turned_away" }, "connect_missing", "turned_away"],
      ["it has no connection left", { user: "full_up" }, "too_many_connections", "max_connections"]
    ]
    it.effect.each(rows)("D7, D11: that %s is its condition's reason", ([, changes, reason, word]) =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const { postgres, settings } = yield* ShardBench.ShardBench
          const { host, port } = settings.primary
          yield* Effect.forEach(roles, (role) => Effect.ignore(postgres.query(role)))
          yield* postgres.query("grant connect on database postgres to full_up")
          const name = reason.replaceAll("_", "-")
          yield* Bench.shard(name, { primary: { host, port, sslmode: "disable", ...changes } })

          yield* bench.passShard(name)

          for (const type of ["Reachable", "Ready"]) {
            const condition = Conditions.get(yield* conditionsOf(name), type)
            assert.deepInclude(condition, { status: "False", reason })
            assert.include(condition?.message, word)
            assert.notInclude(condition?.message, password)
          }
        })
      )
    )

    const untrusted = Certificate.selfSigned()
    const certificates: ReadonlyArray<readonly [string, Primary, string, string]> = [
      ["is of an authority that is not trusted", { host: "127.0.0.1" }, "certificate_untrusted", "primary.caBundle"],
      ["is for other names", { host: "127.0.0.2", caBundle: untrusted.cert }, "certificate_name", "primary.host"]
    ]
    it.effect.each(certificates)("D6, D7: that the certificate %s is its condition's reason", ([, at, reason, word]) =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const { port } = yield* speakingTls(untrusted)
          const name = reason.replaceAll("_", "-")
          yield* Bench.shard(name, { primary: { host: "127.0.0.1", port, sslmode: "verify-full", ...at } })

          yield* bench.passShard(name)

          const reachable = Conditions.get(yield* conditionsOf(name), "Reachable")
          assert.deepInclude(reachable, { status: "False", reason })
          assert.include(reachable?.message, word)
          assert.notMatch(reachable?.message ?? "", /node|--/iu)
        })
      )
    )

    it.effect("D6, D11: what is wrong with the endpoint is named as the endpoint's", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.shard("endpoint", { endpoint: { host: "127.0.0.1", port: 1, sslmode: "disable" } })

          yield* bench.passShard("endpoint")

          const conditions = yield* conditionsOf("endpoint")
          assert.deepInclude(Conditions.get(conditions, "Reachable"), { status: "True" })
          const pooler = Conditions.get(conditions, "PoolerVerified")
          assert.deepInclude(pooler, { status: "False", reason: "connection_refused" })
          assert.include(pooler?.message, "correct endpoint")
        })
      )
    )
  })

  const causes: ReadonlyArray<readonly [string, string]> = [
    ["timeout expired", "no_answer"],
    ["connect ETIMEDOUT 10.0.0.1:5432", "no_answer"],
    ["connect EHOSTUNREACH 10.0.0.1:5432", "no_answer"],
    ["getaddrinfo EAI_AGAIN db.example.com", "name_unknown"],
    ["SQLSTATE 57P03: the database system is starting up", "not_serving"],
    ["Connection terminated unexpectedly", "unreachable"]
  ]
  it.effect.each(causes)("D11: %j is %s", ([problem, reason]) =>
    Effect.gen(function* () {
      const shard = yield* decoded
      const failure = PostgresFailure.classify(shard.metadata.name, new Unreachable({ problem }))

      assert.strictEqual(explained(shard, failure).reason, reason)
    })
  )

  const certificates: ReadonlyArray<readonly [string, string]> = [
    ["CERT_HAS_EXPIRED", "certificate has expired"],
    ["CERT_NOT_YET_VALID", "certificate is not yet valid"]
  ]
  it.effect.each(certificates)("D6: %s is certificate_expired, looked at again as slowly as before", ([code, words]) =>
    Effect.gen(function* () {
      const shard = yield* decoded
      const thrown = pgErrors.ofConnect(Object.assign(new Error(words), { code }))

      const { after, reason, why } = explained(shard, PostgresFailure.classify(shard.metadata.name, thrown))

      assert.strictEqual(reason, "certificate_expired")
      assert.strictEqual(why, `cannot connect by TLS: ${words}`)
      assert.deepStrictEqual(after, Duration.minutes(1))
    })
  )

  it.effect("what is no failure to connect is left as it is", () =>
    Effect.gen(function* () {
      const shard = yield* decoded
      const failure = PostgresFailure.Reasons.read_only({ shard: shard.metadata.name })

      assert.strictEqual(explained(shard, failure), failure)
    })
  )

  const decoded = Shard.decode({
    apiVersion: "db.berth.dev/v1alpha1",
    kind: "Shard",
    metadata: { name: "shard-a", uid: "uid", resourceVersion: "1" },
    spec: {
      primary: { host: "db.example.com" },
      endpoint: { host: "pooler.example.com" },
      provisionerSecretRef: { name: "shard-a", key: "password" }
    }
  })
})
