/** Every statement of a tenant's life is a place to die: before it, while it runs, and before its answer arrives. */
import { assert, describe, layer } from "@effect/vitest"
import * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Exit, Schedule } from "effect"
import * as Registry from "../src/Registry.ts"
import * as ShardServer from "../src/ShardServer.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantCreation from "../src/TenantCreation.ts"
import * as TenantDrop from "../src/TenantDrop.ts"
import * as Cuts from "./support/Cuts.ts"
import * as ShardBench from "./support/ShardBench.ts"

type Work = (server: ShardServer.ShardServer, tenant: Registry.Tenant) => Effect.Effect<void, unknown>

const create: Work = (server, tenant) => TenantCreation.create(server, tenant, ShardBench.passwordOf(tenant))
const close: Work = (server, tenant) => TenantClosing.close(server, tenant)
const drop: Work = (server, tenant) => TenantDrop.drop(server, tenant)

/**
 * As a manager does. A statement whose connection was cut may still run, and get there between the next attempt's look and its
 * statement.
 */
const again = {
  times: 5,
  while: (error: unknown) => Disposition.isProvisionError(error) && error._tag === "Transient",
  schedule: Schedule.spaced("20 millis")
}

/** Does the work with one cut, and again until it succeeds; returns the messages of the first attempt. */
const survive = Effect.fnUntraced(function* (
  changes: ShardBench.Changes,
  work: Work,
  tenant: Registry.Tenant,
  cut: Cuts.Plan["cut"]
) {
  const { settings } = yield* ShardBench.ShardBench
  const plan: Cuts.Plan = { ...Cuts.plan(), cut }
  const server = yield* ShardServer.make({ ...settings, ...changes }).pipe(Effect.provide(Cuts.layer(plan)))
  const first = yield* Effect.exit(work(server, tenant))
  assert.strictEqual(Exit.isFailure(first), cut !== undefined, `${cut?.moment} ${cut?.at}: ${plan.sent.at(-1)}`)
  const messages = [...plan.sent]
  if (cut !== undefined) yield* Effect.retry(work(server, tenant), again)
  return messages
}, Effect.scoped)

/** What there is of a tenant on the server. */
const leftOf = Effect.fnUntraced(function* ({ databaseName, roleName }: Registry.Tenant) {
  const { postgres } = yield* ShardBench.ShardBench
  const [row] = yield* postgres.query(
    `select (select count(*)::int from pg_database where datname = $1) as databases,
      (select count(*)::int from pg_roles where rolname = $2) as roles,
      (select count(*)::int from pg_auth_members m join pg_roles r on r.oid = m.member
        where r.rolname = 'berth_provisioner' and m.roleid = to_regrole($2) and m.set_option) as memberships`,
    [databaseName, roleName]
  )
  const registered = yield* postgres.query("select from berth.tenants where database_name = $1", [databaseName], {
    database: Registry.database
  })
  return { ...row, rows: registered.length }
})

/** What only reads leaves nothing behind, however far it came. */
const isRead = (message: string): boolean => /^(?:SELECT|WITH)\b(?!.*pg_terminate_backend)/su.test(message)

type Cut = NonNullable<Cuts.Plan["cut"]>

/**
 * To a server, the end of one message is the beginning of the next: so each is cut before it, each that writes also while it runs, and
 * the last one after it.
 */
const places = (messages: ReadonlyArray<string>, ownership: "provider" | "tenant"): ReadonlyArray<Cut> => [
  ...messages.flatMap((message, index): ReadonlyArray<Cut> => {
    const at = index + 1
    if (!isRead(message))
      return [
        { at, moment: "before" },
        { at, moment: "during" }
      ]
    // The reads are the same, whoever owns.
    return ownership === "provider" ? [{ at, moment: "before" }] : []
  }),
  { at: messages.length, moment: "after" }
]

const eachPlace = <E, R>(
  messages: ReadonlyArray<string>,
  ownership: "provider" | "tenant",
  run: (cut: Cut) => Effect.Effect<void, E, R>
) => Effect.forEach(places(messages, ownership), run, { concurrency: 3, discard: true })

const whole = { databases: 1, roles: 1, memberships: 0, rows: 1 }
const nothing = { databases: 0, roles: 0, memberships: 0, rows: 0 }

describe("The crash matrix", { timeout: 60_000 }, () => {
  layer(ShardBench.layer(), { timeout: 60_000, excludeTestServices: true })((it) => {
    const ownerships = ["provider", "tenant"] as const

    it.effect.each(ownerships)(
      "D3: killed before, during and after any statement, a creation ends with one database and one role (ownership: %s)",
      (ownership) =>
        Effect.gen(function* () {
          const { server } = yield* ShardBench.ShardBench
          const messages = yield* survive({ ownership }, create, yield* ShardBench.newTenant(), undefined)

          const cutAt = Effect.fnUntraced(function* (cut: Cut) {
            const tenant = yield* ShardBench.newTenant()
            yield* survive({ ownership }, create, tenant, cut)

            assert.deepStrictEqual(yield* leftOf(tenant), whole, `${cut.moment} ${cut.at}`)
            assert.strictEqual(yield* ShardBench.asked(server, ShardBench.loginOf(tenant), "create table t ()"), "done")
          })
          yield* eachPlace(messages, ownership, cutAt)
          assert.isAtLeast(messages.length, 8)
        })
    )

    it.effect("D3, D12: killed before, during and after any statement, a closing ends with everything closed", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const first = yield* ShardBench.made(server)
        const messages = yield* survive({}, close, first.tenant, undefined)

        const cutAt = Effect.fnUntraced(function* (cut: Cut) {
          const { login, tenant } = yield* ShardBench.made(server)
          yield* survive({}, close, tenant, cut)

          assert.deepStrictEqual(yield* leftOf(tenant), whole, `${cut.moment} ${cut.at}`)
          assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
        })
        yield* eachPlace(messages, "provider", cutAt)
        assert.isAtLeast(messages.length, 4)
      })
    )

    it.effect.each(ownerships)(
      "D3, D13: killed before, during and after any statement, a drop ends with nothing (ownership: %s)",
      (ownership) =>
        Effect.gen(function* () {
          const { with: withSettings } = yield* ShardBench.ShardBench
          const server = yield* withSettings({ ownership })
          const first = yield* ShardBench.made(server)
          const messages = yield* survive({ ownership }, drop, first.tenant, undefined)

          const cutAt = Effect.fnUntraced(function* (cut: Cut) {
            const { tenant } = yield* ShardBench.made(server)
            yield* survive({ ownership }, drop, tenant, cut)

            assert.deepStrictEqual(yield* leftOf(tenant), nothing, `${cut.moment} ${cut.at}`)
          })
          yield* eachPlace(messages, ownership, cutAt)
          assert.isAtLeast(messages.length, 6)
        }).pipe(Effect.scoped)
    )
  })
})
