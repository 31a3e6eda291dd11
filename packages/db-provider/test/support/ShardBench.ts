/** A shard to test on: a real PostgreSQL, prepared as its administrator is told to, and tenants of it. */
import * as Identifier from "@berth/provisioners/Identifier"
import * as Postgres from "@berth/testing/Postgres"
import { vi } from "vitest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import * as BootstrapSql from "../../src/BootstrapSql.ts"
import { Connector } from "../../src/Connector.ts"
import * as Names from "../../src/Names.ts"
import type { PostgresError } from "../../src/PostgresError.ts"
import type { Tenant } from "../../src/Registry.ts"
import * as ShardServer from "../../src/ShardServer.ts"
import * as Sql from "../../src/Sql.ts"
import * as TenantCreation from "../../src/TenantCreation.ts"

// A server of dozens of databases has thousands of files, which are not removed in no time on a busy machine.
vi.setConfig({ hookTimeout: 60_000 })

export type Changes = Partial<ShardServer.Settings>

/** A tenant that is on the shard, with the password that it was made with. */
export interface Made {
  readonly tenant: Tenant
  readonly name: string
  readonly login: ShardServer.Login
}

export class ShardBench extends Context.Service<
  ShardBench,
  {
    readonly postgres: Postgres.Server
    readonly settings: ShardServer.Settings
    readonly server: ShardServer.ShardServer
    /** The shard with other settings. */
    readonly with: (changes: Changes) => Effect.Effect<ShardServer.ShardServer, never, Scope.Scope | Connector>
  }
>()("test/ShardBench") {}

const settingsOf = ({ host, port }: Postgres.Server): ShardServer.Settings => ({
  shard: Identifier.of("shard-a"),
  primary: { host, port, sslmode: "disable", user: "berth_provisioner", database: "postgres" },
  endpoint: { host, port, sslmode: "disable" },
  password: Redacted.make("a password of the provisioner"),
  ownership: "provider",
  template: "template0",
  limits: { roleConnections: 5, databaseConnections: 7, tempFileLimit: "1MB" }
})

const bench = Effect.gen(function* () {
  const postgres = yield* Postgres.Postgres
  const settings = settingsOf(postgres)
  yield* postgres.query(yield* BootstrapSql.make(settings))
  const server = yield* ShardServer.make(settings)
  // The first to use a shard makes its registry: not to be counted with what a test does.
  yield* Effect.scoped(server.maintenance)
  return {
    postgres,
    settings,
    server,
    with: (changes: Changes) => ShardServer.make({ ...settings, ...changes })
  }
})

export const layerOn = <E>(postgres: Layer.Layer<Postgres.Postgres, E>) =>
  Layer.effect(ShardBench, bench).pipe(Layer.provideMerge(postgres), Layer.provideMerge(Connector.layer()))

export const layer = (settings: Readonly<Record<string, string>> = {}) => layerOn(Postgres.layer({ settings }))

/** A tenant that is nowhere yet. */
export const newTenant = (consumer = "consumer"): Effect.Effect<Tenant> =>
  Effect.map(Names.tenant, (name) => ({
    databaseName: name,
    roleName: name,
    consumer,
    externalId: `id-${name.slice(2)}`,
    recordUid: `uid-${name.slice(2)}`
  }))

export const passwordOf = ({ databaseName }: Tenant): Redacted.Redacted => Redacted.make(`password-of-${databaseName}`)

export const loginOf = (tenant: Tenant): ShardServer.Login => ({
  user: tenant.roleName,
  database: tenant.databaseName,
  password: passwordOf(tenant)
})

/** A tenant that is made. */
export const made = Effect.fnUntraced(function* (server: ShardServer.ShardServer) {
  const tenant = yield* newTenant()
  yield* TenantCreation.create(server, tenant, passwordOf(tenant))
  return { tenant, name: tenant.databaseName, login: loginOf(tenant) } satisfies Made
})

/** What the server says to a tenant that asks for something: a SQLSTATE, or what it gave. */
export const asked = (
  server: ShardServer.ShardServer,
  login: ShardServer.Login,
  ...statements: ReadonlyArray<string>
): Effect.Effect<string> =>
  Effect.gen(function* () {
    const connection = yield* server.asTenant(login, "primary")
    for (const statement of statements) yield* connection.run(verbatim(statement))
    return "done"
  }).pipe(
    Effect.scoped,
    Effect.catch((error: PostgresError) => Effect.succeed("sqlState" in error ? error.sqlState : error._tag))
  )

/** What an attacker sends is not quoted by anybody: the tests' own way around the type. */
export const verbatim = (statement: string): Sql.Fragment => ({ ...Sql.nothing, sql: statement })
