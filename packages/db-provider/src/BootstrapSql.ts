/**
 * The SQL that prepares a server for the provider, for an administrator to read and run once.
 *
 * **Guarantees**
 * - D5: it grants what {@link Requirements.of} lists and nothing else, and may be run again.
 * - D7: it holds a verifier, not the password.
 *
 * **Caveats**
 * - It takes CONNECT on the databases `postgres` and `template1` from PUBLIC, so that tenants cannot connect to them; whatever else
 *   connects there without being a superuser has to be granted it.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import * as Requirements from "./Requirements.ts"
import * as Scram from "./Scram.ts"
import type { Settings } from "./ShardServer.ts"
import * as Sql from "./Sql.ts"

const createOnce = (role: string): Sql.Fragment =>
  Sql.sql`DO $berth$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${Sql.text(role)}) THEN
    CREATE ROLE ${Sql.name(role)};
  END IF;
END $berth$`

/**
 * The statements that keep tenants out of a database that is not theirs, and let the provider in.
 *
 * @category statements
 * @since 0.1.0
 */
export const keepOut = (database: string, provisioner: string): ReadonlyArray<Sql.Fragment> => [
  Sql.sql`REVOKE CONNECT, TEMPORARY ON DATABASE ${Sql.name(database)} FROM PUBLIC`,
  Sql.sql`GRANT CONNECT ON DATABASE ${Sql.name(database)} TO ${Sql.name(provisioner)}`
]

/**
 * The text, for psql.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fn("BootstrapSql.make")(function* (settings: Settings): Effect.fn.Return<string> {
  const { database, user } = settings.primary
  const verifier = yield* Scram.verifier(settings.password)
  const statements = [
    createOnce(user),
    Sql.sql`ALTER ROLE ${Sql.name(user)} PASSWORD ${Sql.text(verifier)}`,
    ...Requirements.of(settings).map(({ grant }) => grant),
    ...[...new Set([database, "postgres", "template1"])].flatMap((each) => keepOut(each, user))
  ]
  return `${Sql.script(statements).sql}\n`
})
