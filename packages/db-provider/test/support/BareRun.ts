/**
 * What it takes to make a tenant, sent by hand through `pg`: what the provider's own speed is measured against.
 *
 * Nobody keeps two lists of statements in step. One creation of the library is recorded: which connections it opens, by which settings,
 * and what it sends on each. That is sent again, with other names and another password.
 */
import * as Names from "../../src/Names.ts"
import * as Scram from "../../src/Scram.ts"
import * as ShardServer from "../../src/ShardServer.ts"
import * as TenantCreation from "../../src/TenantCreation.ts"
import { Connector, type Connection, type Target } from "../../src/Connector.ts"
import * as Sql from "../../src/Sql.ts"
import { Effect, Redacted, Schema, type Scope } from "effect"
import { Client } from "pg"

/** A connection, as the library made it. */
interface Connect {
  readonly _tag: "Connect"
  readonly connection: number
  readonly target: Target
  /** What the client asked for when it connected, as PostgreSQL's `options` have it. */
  readonly options: string
}

type Deed =
  | Connect
  | { readonly _tag: "Send"; readonly connection: number; readonly sql: string }
  | { readonly _tag: "Close"; readonly connection: number }

interface Recording {
  /** Those that were there before, and are used again. */
  readonly kept: ReadonlyArray<Connect>
  readonly deeds: ReadonlyArray<Deed>
  readonly tenant: string
}

export interface Made {
  readonly name: string
  readonly tookMs: number
}

/** Somebody who makes one tenant after the other, with the connections that the provider keeps, too. */
export interface BareRun {
  readonly one: Effect.Effect<Made>
}

const Setting = Schema.Struct({ name: Schema.String, setting: Schema.String })

/** What the session has from its client, by its own word. */
const settingsOf = (connection: Connection) =>
  connection.query(
    Sql.sql`SELECT name, setting FROM pg_settings WHERE source = 'client' AND name <> 'client_encoding' ORDER BY name`,
    Setting
  )

const optionsOf = (settings: ReadonlyArray<typeof Setting.Type>): string =>
  settings.map(({ name, setting }) => `-c ${name}=${setting.replaceAll(/[\\ ]/gu, "\\$&")}`).join(" ")

/** A connector that tells what is done by it. */
const recorder = (connector: Connector["Service"], note: (deed: Deed) => void): Connector["Service"] => {
  let connections = 0
  return {
    connect: Effect.fnUntraced(function* (target: Target) {
      const id = connections++
      yield* Effect.addFinalizer(() => Effect.sync(() => note({ _tag: "Close", connection: id })))
      const connection = yield* connector.connect(target)
      const options = target.session === "maintenance" ? optionsOf(yield* settingsOf(connection)) : ""
      note({ _tag: "Connect", connection: id, target, options })
      const noted = ({ sql }: Sql.Fragment) => note({ _tag: "Send", connection: id, sql })
      return {
        ...connection,
        query: (statement, row) =>
          Effect.andThen(
            Effect.sync(() => noted(statement)),
            connection.query(statement, row)
          ),
        run: (statement) =>
          Effect.andThen(
            Effect.sync(() => noted(statement)),
            connection.run(statement)
          )
      }
    })
  }
}

const tenantOf = (name: string) => ({
  databaseName: name,
  roleName: name,
  consumer: "bare",
  externalId: `id-${name}`,
  recordUid: `uid-${name}`
})

/** Makes two tenants: the first one makes what is kept, the second one is recorded. */
const record = Effect.fnUntraced(function* (settings: ShardServer.Settings) {
  const all: Array<Deed> = []
  const recording = recorder(yield* Connector, (deed) => all.push(deed))
  const server = yield* Effect.provideService(ShardServer.make(settings), Connector, recording)
  const create = Effect.fnUntraced(function* () {
    const name = yield* Names.tenant
    yield* TenantCreation.create(server, tenantOf(name), Redacted.make(yield* Names.password))
    return name
  })
  yield* create()
  const before = all.splice(0)
  const closed = new Set(before.flatMap((deed) => (deed._tag === "Close" ? [deed.connection] : [])))
  const kept = before.flatMap((deed) => (deed._tag === "Connect" && !closed.has(deed.connection) ? [deed] : []))
  const tenant = yield* create()
  return { kept, deeds: [...all], tenant } satisfies Recording
}, Effect.scoped)

const verifierPattern = /SCRAM-SHA-256\$[^']+/gu

const open = (
  config: { readonly target: Target; readonly options: string },
  database: string,
  user: string,
  password: string
) =>
  Effect.promise(async () => {
    const { host, port } = config.target
    const client = new Client({ host, port, user, password, database, options: config.options })
    client.on("error", () => undefined)
    await client.connect()
    return client
  })

const close = (client: Client) => Effect.promise(() => client.end())

/** One who works, with connections of its own that it keeps. */
const worker = Effect.fnUntraced(function* ({
  deeds,
  kept,
  tenant
}: Recording): Effect.fn.Return<BareRun, never, Scope.Scope> {
  const always = new Map<number, Client>()
  for (const deed of kept) {
    const { database, password, user } = deed.target
    const client = yield* Effect.acquireRelease(open(deed, database, user, Redacted.value(password)), close)
    always.set(deed.connection, client)
  }

  const make = Effect.fnUntraced(function* (name: string) {
    const password = yield* Names.password
    const clients = new Map(always)
    const renamed = (text: string) => text.replaceAll(tenant, name)
    const secretOf = (target: Target) => (target.session === "tenant" ? password : Redacted.value(target.password))
    for (const deed of deeds) {
      if (deed._tag === "Connect") {
        const { target } = deed
        const client = yield* open(deed, renamed(target.database), renamed(target.user), secretOf(target))
        clients.set(deed.connection, client)
        continue
      }
      const client = clients.get(deed.connection)
      if (client === undefined) return yield* Effect.die(new Error("a connection was used before it was made"))
      if (deed._tag === "Close") {
        yield* close(client)
        continue
      }
      // Each password has a verifier of its own, which takes its time.
      const verifier = deed.sql.includes("SCRAM-SHA-256$") ? yield* Scram.verifier(Redacted.make(password)) : ""
      const sql = renamed(deed.sql).replaceAll(verifierPattern, () => verifier)
      yield* Effect.promise(() => client.query(sql))
    }
  })

  return {
    one: Effect.gen(function* () {
      const name = yield* Names.tenant
      const since = performance.now()
      yield* make(name)
      return { name, tookMs: performance.now() - since }
    })
  }
})

/** So many who work at the same time, until the scope closes. */
export const make = Effect.fnUntraced(function* (settings: ShardServer.Settings, workers: number) {
  const recording = yield* record(settings)
  return yield* Effect.replicateEffect(worker(recording), workers)
})
