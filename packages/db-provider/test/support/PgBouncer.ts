/** Debian's PgBouncer, where the machine has it, in front of a server: it looks users up in the database that they ask for. */
import { existsSync } from "node:fs"
import * as Postgres from "@berth/testing/Postgres"
import { Effect } from "effect"

export const isThere = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].some((path) => existsSync(path))

export const notice = (): void => console.warn("PgBouncer is not tried: it is not there (apt-get install pgbouncer)")

export const authUser = "pooler"
const password = "a password of the pooler"

/** What an administrator sets up: the pooler's role, and the function that it looks users up by, for whoever is made from here. */
export const prepare = Effect.fnUntraced(function* (postgres: Postgres.Server) {
  yield* postgres.query(`create role ${authUser} login password '${password}'`)
  const inTemplate = (statement: string) => postgres.query(statement, [], { database: "template1" })
  yield* inTemplate("create schema pgbouncer")
  yield* inTemplate(`create function pgbouncer.lookup(name text, out uname text, out phash text) language sql
    security definer set search_path = pg_catalog
    begin atomic select rolname::text, rolpassword from pg_authid where rolname = name and rolcanlogin; end`)
  yield* inTemplate("revoke all on function pgbouncer.lookup from public")
  yield* inTemplate(`grant usage on schema pgbouncer to ${authUser}`)
  yield* inTemplate(`grant execute on function pgbouncer.lookup to ${authUser}`)
})

/** Returns the port on 127.0.0.1. */
export const start = (postgres: Postgres.Server) =>
  Effect.map(
    Postgres.pooled(
      { ...postgres, superuser: { user: authUser, password } },
      { auth_query: "SELECT uname, phash FROM pgbouncer.lookup($1)" }
    ),
    ({ port }) => port
  )
