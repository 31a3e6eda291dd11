/**
 * What the provider needs on a server, with the SQL that grants it.
 *
 * **Guarantees**
 * - D5: no superuser: CREATEDB, CREATEROLE, `pg_signal_backend`, `pg_read_all_stats`, and the right to set `temp_file_limit` where that
 *   limit is used.
 *
 * @since 0.1.0
 */
import type { Settings } from "./ShardServer.ts"
import * as Sql from "./Sql.ts"

/**
 * One privilege of the provisioner.
 *
 * @category models
 * @since 0.1.0
 */
export interface Requirement {
  readonly id: "login" | "createdb" | "createrole" | "inherit" | "signal_backend" | "read_all_stats" | "temp_file_limit"
  readonly why: string
  /** Asks the server whether the session's role has it. */
  readonly holds: Sql.Fragment
  /** What an administrator runs. */
  readonly grant: Sql.Fragment
}

const attribute = (column: string): Sql.Fragment =>
  Sql.sql`(SELECT ${Sql.name(column)} FROM pg_roles WHERE rolname = current_user)`

const membership = (role: string): Sql.Fragment => Sql.sql`pg_has_role(${Sql.text(role)}, 'USAGE')`

/**
 * All that is needed with these settings.
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = ({ limits, primary }: Settings): ReadonlyArray<Requirement> => {
  const role = Sql.name(primary.user)
  const always: ReadonlyArray<Requirement> = [
    {
      id: "login",
      why: "the provider logs in as this role",
      holds: attribute("rolcanlogin"),
      grant: Sql.sql`ALTER ROLE ${role} LOGIN`
    },
    {
      id: "createdb",
      why: "it makes tenants' databases",
      holds: attribute("rolcreatedb"),
      grant: Sql.sql`ALTER ROLE ${role} CREATEDB`
    },
    {
      id: "createrole",
      why: "it makes tenants' roles",
      holds: attribute("rolcreaterole"),
      grant: Sql.sql`ALTER ROLE ${role} CREATEROLE`
    },
    {
      id: "inherit",
      why: "it undoes what a tenant granted with that tenant's privileges",
      holds: attribute("rolinherit"),
      grant: Sql.sql`ALTER ROLE ${role} INHERIT`
    },
    {
      id: "signal_backend",
      why: "it ends the sessions of a database that is closed, the pooler's among them",
      holds: membership("pg_signal_backend"),
      grant: Sql.sql`GRANT pg_signal_backend TO ${role}`
    },
    {
      id: "read_all_stats",
      why: "it sees who is connected",
      holds: membership("pg_read_all_stats"),
      grant: Sql.sql`GRANT pg_read_all_stats TO ${role}`
    }
  ]
  if (limits.tempFileLimit === undefined) return always
  return [
    ...always,
    {
      id: "temp_file_limit",
      why: "it limits what tenants write to temporary files",
      holds: Sql.sql`has_parameter_privilege('temp_file_limit', 'SET')`,
      grant: Sql.sql`GRANT SET ON PARAMETER temp_file_limit TO ${role}`
    }
  ]
}
