import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Inventory from "../src/Inventory.ts"
import * as Registry from "../src/Registry.ts"
import * as ShardServer from "../src/ShardServer.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantCreation from "../src/TenantCreation.ts"
import * as ShardBench from "./support/ShardBench.ts"

const recorded = (tenant: Registry.Tenant, isClosed = false, isHeld = false): Inventory.Recorded => ({
  ...tenant,
  isClosed,
  isHeld
})

const differences = Effect.fnUntraced(function* (records: ReadonlyArray<Inventory.Recorded>) {
  const { server } = yield* ShardBench.ShardBench
  const stock = yield* ShardServer.maintain(server, Inventory.take)
  return Inventory.compare(stock, records).map(({ kind, name }) => [kind, name] as const)
})

describe("Inventory", { timeout: 30_000 }, () => {
  layer(ShardBench.layer(), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D14: shard, registry and records are compared, and what does not fit is named", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const fits = yield* ShardBench.made(server)
        const closed = yield* ShardBench.made(server)
        const lost = yield* ShardBench.made(server)
        const reopened = yield* ShardBench.made(server)
        const halved = yield* ShardBench.made(server)
        const held = yield* ShardBench.made(server)
        const [stranger, absent] = [yield* ShardBench.newTenant(), yield* ShardBench.newTenant()]
        yield* TenantClosing.close(server, closed.tenant)
        yield* postgres.query(`create role ${stranger.roleName}`)
        yield* postgres.query(`drop database ${halved.name}`)

        const found = yield* differences([
          recorded(fits.tenant),
          recorded(closed.tenant),
          recorded(reopened.tenant, true),
          recorded(halved.tenant),
          recorded(held.tenant, false, true),
          recorded(absent)
        ])

        assert.sameDeepMembers(
          [...found],
          [
            ["closed", closed.name],
            ["unrecorded", lost.name],
            ["open", reopened.name],
            ["incomplete", halved.name],
            ["held", held.name],
            ["unregistered", stranger.roleName],
            ["missing", absent.databaseName]
          ]
        )
        const all = [fits, lost, held].map(({ tenant }) => recorded(tenant))
        const others = [recorded(closed.tenant, true), recorded(reopened.tenant)]
        assert.deepStrictEqual(yield* differences([...all, ...others, recorded(halved.tenant)]), [
          ["incomplete", halved.name],
          ["unregistered", stranger.roleName]
        ])
      })
    )

    it.effect("D14: a registry of more than one page is read as a whole", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const target = { database: Registry.database }
        const before = yield* ShardServer.maintain(server, Inventory.take)
        yield* postgres.query(
          "insert into berth.tenants select 'x' || n, 'x' || n, 'many', 'x' || n, 'x' || n from generate_series(1, 2000) n",
          [],
          target
        )

        const after = yield* ShardServer.maintain(server, Inventory.take)
        yield* postgres.query("delete from berth.tenants where consumer = 'many'", [], target)

        assert.strictEqual(after.entries.length, before.entries.length + 2_000)
        assert.strictEqual(new Set(after.entries.map(({ databaseName }) => databaseName)).size, after.entries.length)
      })
    )

    it.effect(
      "D14: a tenant whose record is lost is adopted by a new one, which can do with it what the old one could",
      () =>
        Effect.gen(function* () {
          const { server } = yield* ShardBench.ShardBench
          const { login, name } = yield* ShardBench.made(server)
          const stock = yield* ShardServer.maintain(server, Inventory.take)
          const entry = Inventory.compare(stock, []).find(
            (each) => each.name === name && each.kind === "unrecorded"
          )?.entry
          const { closedAt: _, createdAt: __, ...tenant } = Option.getOrThrow(entry ?? Option.none())

          const adopted = { ...tenant, recordUid: "the-new-one" }
          yield* ShardServer.maintain(server, (connection) => Registry.adopt(connection, tenant, adopted.recordUid))

          yield* ShardServer.maintain(server, (connection) => TenantCreation.verify(connection, server, adopted))
          assert.strictEqual((yield* Effect.flip(TenantClosing.close(server, tenant))).reason, "foreign")
          yield* TenantClosing.close(server, adopted)
          assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
        })
    )
  })
})
