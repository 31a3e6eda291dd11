import { assert, describe, it as plain, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as Isolation from "../src/Isolation.ts"
import * as ShardServer from "../src/ShardServer.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantStatements from "../src/TenantStatements.ts"
import * as ShardBench from "./support/ShardBench.ts"

class Canary extends Context.Service<Canary, ShardBench.Made>()("test/Canary") {
  static readonly layer = Layer.effect(
    Canary,
    Effect.flatMap(ShardBench.ShardBench, ({ server }) => ShardBench.made(server))
  )
}

const look = Effect.fnUntraced(function* (server: ShardServer.ShardServer, turn: number) {
  const { login } = yield* Canary
  return yield* Isolation.look(server, login, { turn, sampleSize: 50 })
})

describe("Isolation", { timeout: 30_000 }, () => {
  layer(Layer.provideMerge(Canary.layer, ShardBench.layer()), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D9: on a shard as it should be, every database is asked about, and each that is tried refuses", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const [one, other] = [yield* ShardBench.made(server), yield* ShardBench.made(server)]
        yield* TenantClosing.close(server, other.tenant)

        const report = yield* look(server, 0)

        assert.deepStrictEqual(report.violations, [])
        assert.isAtLeast(report.databases, 5)
        assert.includeMembers([...report.refused], [one.name, other.name, "postgres", "template1", "berth_registry"])
        assert.deepStrictEqual(report.unproven, [])
        assert.deepStrictEqual(Isolation.consequence(server, report), { closesShard: false, closesDatabases: [] })
      })
    )

    it.effect(
      "D9: a database that is being made, which nobody can connect to yet, is none that PUBLIC can get to",
      () =>
        Effect.gen(function* () {
          const { server } = yield* ShardBench.ShardBench
          const tenant = yield* ShardBench.newTenant()
          const { run } = yield* server.maintenance
          yield* run(TenantStatements.role(server.settings, tenant))
          yield* run(TenantStatements.database(server.settings, tenant))

          assert.deepStrictEqual((yield* look(server, 0)).violations, [])
        }).pipe(Effect.scoped)
    )

    const breaches: ReadonlyArray<
      readonly [
        string,
        (name: string, canary: string) => string,
        (name: string, canary: string) => string,
        ReadonlyArray<Isolation.Violation["how"]>
      ]
    > = [
      [
        "a database that PUBLIC may connect to",
        (name) => `grant connect on database ${name} to public`,
        (name) => `revoke connect on database ${name} from public`,
        ["privilege", "login"]
      ],
      [
        "a privilege that was granted to it",
        (name, canary) => `grant create on database ${name} to ${canary}`,
        (name, canary) => `revoke create on database ${name} from ${canary}`,
        ["privilege"]
      ]
    ]
    it.effect.each(breaches)("D9: %s is found, and named, and closes the shard to new databases", (row) =>
      Effect.gen(function* () {
        const [, open, close, expected] = row
        const { postgres, server } = yield* ShardBench.ShardBench
        const canary = yield* Canary
        const { name } = yield* ShardBench.made(server)
        yield* postgres.query(open(name, canary.name))

        const report = yield* look(server, 0)
        yield* postgres.query(close(name, canary.name))

        assert.deepStrictEqual(
          report.violations,
          expected.map((how) => ({ database: name, how, isTenant: true }))
        )
        assert.isTrue(Isolation.consequence(server, report).closesShard)
        assert.deepStrictEqual((yield* look(server, 0)).violations, [])
      })
    )

    it.effect("D9: membership in another's role is found", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const canary = yield* Canary
        const { name } = yield* ShardBench.made(server)
        yield* postgres.query(`grant ${name} to ${canary.name}`)

        const { violations } = yield* look(server, 0)
        yield* postgres.query(`revoke ${name} from ${canary.name}`)

        // With the role come its privileges.
        assert.sameDeepMembers(
          [...violations],
          (["privilege", "login", "membership"] as const).map((how) => ({ database: name, how, isTenant: true }))
        )
      })
    )

    it.effect("D9: a database of the administrator's that is open closes the shard, whoever owns tenants' ones", () =>
      Effect.gen(function* () {
        const { postgres, with: withSettings } = yield* ShardBench.ShardBench
        const server = yield* withSettings({ ownership: "tenant" })
        yield* postgres.query("grant connect on database postgres to public")

        const report = yield* look(server, 0)
        yield* postgres.query("revoke connect on database postgres from public")

        assert.deepStrictEqual(Isolation.consequence(server, report), { closesShard: true, closesDatabases: [] })
      }).pipe(Effect.scoped)
    )

    it.effect("D9: where tenants own their databases, one that its tenant opened is closed alone", () =>
      Effect.gen(function* () {
        const { with: withSettings } = yield* ShardBench.ShardBench
        const server = yield* withSettings({ ownership: "tenant" })
        const { login, name, tenant } = yield* ShardBench.made(server)
        yield* ShardBench.asked(server, login, `grant connect on database ${name} to public`)

        const report = yield* look(server, 0)
        const consequence = Isolation.consequence(server, report)
        yield* TenantClosing.close(server, tenant)

        assert.deepStrictEqual(consequence, { closesShard: false, closesDatabases: [name] })
        assert.deepStrictEqual((yield* look(server, 0)).violations, [])
      }).pipe(Effect.scoped)
    )

    it.effect("D9: a canary that cannot log in proves nothing, and says so", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { login, tenant } = yield* ShardBench.made(server)
        yield* TenantClosing.close(server, tenant)

        const error = yield* Effect.flip(Isolation.look(server, login, { turn: 0 }))

        assert.strictEqual(error._tag, "LoginRefused")
      })
    )
  })

  plain("D9: in turns, the samples come to every database, and a small shard is tried as a whole", () => {
    const all = ["a", "b", "c", "d", "e", "f", "g"]
    const turns = [0, 1, 2].map((turn) => Isolation.sample(all, 3, turn))

    assert.deepStrictEqual(turns, [
      ["a", "b", "c"],
      ["d", "e", "f"],
      ["g", "a", "b"]
    ])
    assert.deepStrictEqual(Isolation.sample(["a", "b"], 3, 1).toSorted(), ["a", "b"])
    assert.deepStrictEqual(Isolation.sample([], 3, 1), [])
  })
})
