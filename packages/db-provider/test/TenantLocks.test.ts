/** What a tenant can hold on to by a transaction that it leaves open, and that it does not keep anything from being closed or dropped. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Connector } from "../src/Connector.ts"
import * as Sessions from "../src/Sessions.ts"
import * as ShardServer from "../src/ShardServer.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantDrop from "../src/TenantDrop.ts"
import * as ShardBench from "./support/ShardBench.ts"

type Ownership = "provider" | "tenant"

/** A server that waits for locks no longer than a test wants to. */
const impatient = (ownership: Ownership = "provider") =>
  Effect.flatMap(ShardBench.ShardBench, ({ settings }) =>
    ShardServer.make({ ...settings, ownership }).pipe(Effect.provide(Connector.layer({ lockTimeoutMs: 2_000 })))
  )

/** A tenant's session that goes on to be there, with what it did last still open. */
const leftOpen = Effect.fnUntraced(function* (
  server: ShardServer.ShardServer,
  { login }: ShardBench.Made,
  ...statements: ReadonlyArray<string>
) {
  const session = yield* server.asTenant(login, "primary")
  for (const statement of ["begin", ...statements]) yield* session.run(ShardBench.verbatim(statement))
})

const settings = { max_prepared_transactions: "10" }

describe("TenantLocks", { timeout: 30_000 }, () => {
  layer(ShardBench.layer(settings), { timeout: 60_000, excludeTestServices: true })((it) => {
    const held: ReadonlyArray<readonly [string, Ownership, (name: string) => ReadonlyArray<string>]> = [
      ["its role", "provider", (name) => [`alter role ${name} password 'its own'`]],
      ["its database", "tenant", (name) => [`alter database ${name} connection limit 3`]],
      ["both", "tenant", (name) => [`alter role ${name} password 'x'`, `alter database ${name} connection limit 3`]]
    ]
    it.effect.each(held)("D12: an open transaction of the tenant that has changed %s does not keep it open", (row) =>
      Effect.gen(function* () {
        const [, ownership, statements] = row
        const server = yield* impatient(ownership)
        const made = yield* ShardBench.made(server)
        yield* leftOpen(server, made, ...statements(made.name))

        yield* TenantClosing.close(server, made.tenant)

        assert.strictEqual(yield* ShardBench.asked(server, made.login), "28000")
      }).pipe(Effect.scoped)
    )

    it.effect.each(held)("D12: a prepared transaction of the tenant that has changed %s does not keep it open", (row) =>
      Effect.gen(function* () {
        const [, ownership, statements] = row
        const server = yield* impatient(ownership)
        const made = yield* ShardBench.made(server)
        const { login, name, tenant } = made
        const prepared = ["begin", ...statements(name), `prepare transaction '${name}'`]
        assert.strictEqual(yield* ShardBench.asked(server, login, ...prepared), "done")

        yield* TenantClosing.close(server, tenant)

        assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
        yield* TenantDrop.drop(server, tenant)
      }).pipe(Effect.scoped)
    )

    it.effect("D12: a prepared change of its role does not keep it open, though its owner lets nobody in", () =>
      Effect.gen(function* () {
        const server = yield* impatient("tenant")
        const { login, name, tenant } = yield* ShardBench.made(server)
        const done = yield* ShardBench.asked(
          server,
          login,
          `revoke all on database ${name} from berth_provisioner`,
          `alter database ${name} connection limit 0`,
          `alter database ${name} set idle_session_timeout = 1`,
          `alter database ${name} set exit_on_error = on`,
          "begin",
          `alter role ${name} password 'its own'`,
          `prepare transaction '${name}'`
        )
        assert.strictEqual(done, "done")

        yield* TenantClosing.close(server, tenant)

        assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
        yield* TenantDrop.drop(server, tenant)
      }).pipe(Effect.scoped)
    )

    it.effect("D13: an owner that cuts sessions in its database stops the drop of another tenant, and is named", () =>
      Effect.gen(function* () {
        const server = yield* impatient("tenant")
        const [attacker, victim] = [yield* ShardBench.made(server), yield* ShardBench.made(server)]
        const { login, name } = attacker
        const done = yield* ShardBench.asked(
          server,
          login,
          "create table mine ()",
          `grant select on mine to ${victim.name}`,
          `alter database ${name} set transaction_timeout = 1`
        )
        assert.strictEqual(done, "done")

        const outcome = yield* Effect.result(TenantDrop.drop(server, victim.tenant))

        // A server that is fast enough is done before that.
        if (outcome._tag === "Failure") assert.include(outcome.failure.message, name)
      }).pipe(Effect.scoped)
    )

    const others: ReadonlyArray<readonly [string, (me: string, victim: string) => ReadonlyArray<string>]> = [
      ["grants something to its role", (_, victim) => ["create table mine ()", `grant select on mine to ${victim}`]],
      ["makes a policy for its role", (_, victim) => ["create table mine ()", `create policy p on mine to ${victim}`]],
      ["has settings for its database", (me, victim) => [`alter role ${me} in database ${victim} set work_mem = '1MB'`]]
    ]
    it.effect.each(others)(
      "D13: an open transaction of another tenant that %s does not stop its drop",
      ([, statements]) =>
        Effect.gen(function* () {
          const server = yield* impatient()
          const [attacker, victim] = [yield* ShardBench.made(server), yield* ShardBench.made(server)]
          yield* leftOpen(server, attacker, ...statements(attacker.name, victim.name))

          yield* TenantDrop.drop(server, victim.tenant)

          assert.strictEqual(yield* ShardBench.asked(server, victim.login), "28P01")
          assert.strictEqual(yield* ShardBench.asked(server, attacker.login), "done")
        }).pipe(Effect.scoped)
    )

    it.effect("D12, D13: another tenant that holds its database again and again keeps it neither open nor there", () =>
      Effect.gen(function* () {
        const server = yield* impatient()
        const [attacker, victim] = [yield* ShardBench.made(server), yield* ShardBench.made(server)]
        const { login, name } = attacker
        const holding = [
          "begin",
          `alter role ${name} in database ${victim.name} set work_mem = '1MB'`,
          "select pg_sleep(30)"
        ]
        const again = Effect.forever(Effect.andThen(ShardBench.asked(server, login, ...holding), Effect.yieldNow))
        yield* Effect.forEach([1, 2, 3, 4], () => Effect.forkScoped(again))
        const connection = yield* server.maintenance
        yield* Effect.repeat(Sessions.list(connection, victim.tenant), { until: ({ length }) => length === 4 })

        yield* TenantClosing.close(server, victim.tenant)
        yield* TenantDrop.drop(server, victim.tenant)

        assert.strictEqual(yield* ShardBench.asked(server, victim.login), "28P01")
      }).pipe(Effect.scoped)
    )

    it.effect.each(others)("D13: one that is prepared and %s stops its drop, and it says whose", ([, statements]) =>
      Effect.gen(function* () {
        const server = yield* impatient()
        const [attacker, victim] = [yield* ShardBench.made(server), yield* ShardBench.made(server)]
        const { login, name } = attacker
        const prepared = ["begin", ...statements(name, victim.name), `prepare transaction '${name}'`]
        assert.strictEqual(yield* ShardBench.asked(server, login, ...prepared), "done")

        const failure = yield* Effect.flip(TenantDrop.drop(server, victim.tenant))
        yield* ShardBench.asked(server, login, `rollback prepared '${name}'`)
        yield* TenantDrop.drop(server, victim.tenant)

        assert.include(failure.message, name)
      }).pipe(Effect.scoped)
    )
  })
})
