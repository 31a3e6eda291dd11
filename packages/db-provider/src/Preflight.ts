/**
 * Says what a server lacks for the provider, and what to run about it.
 *
 * **Guarantees**
 * - D5: each missing privilege is named, with the SQL that grants it.
 * - A pooler that would look users up where it cannot is found before a tenant is (PoolerVerified).
 * - D6: whether anybody answers behind the endpoint that tenants are told is asked by its own sslmode and certificates.
 *
 * **Caveats**
 * - What only a tenant's login shows, such as its database behind the pooler, is shown by the canary.
 *
 * @since 0.1.0
 */
import { Effect, Redacted, Schema } from "effect"
import * as BootstrapSql from "./BootstrapSql.ts"
import { type Connection, Connector } from "./Connector.ts"
import * as Names from "./Names.ts"
import type { PostgresError } from "./PostgresError.ts"
import * as Registry from "./Registry.ts"
import * as Requirements from "./Requirements.ts"
import type { Settings } from "./ShardServer.ts"
import * as Sql from "./Sql.ts"

/**
 * One thing that is not as it should be.
 *
 * **Details**: with a `problem` the shard cannot serve; with a `warning` it can, and somebody should know.
 *
 * @category models
 * @since 0.1.0
 */
export interface Finding {
  readonly severity: "problem" | "warning"
  /** A stable code. */
  readonly id: string
  readonly message: string
  /** What to paste into psql as an administrator; empty where SQL does not help. */
  readonly sql: string
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly serverVersion: string
  readonly findings: ReadonlyArray<Finding>
}

const Facts = Schema.Struct({
  version: Schema.String,
  major: Schema.Int,
  isSuperuser: Schema.Boolean,
  isStandby: Schema.Boolean,
  templateExists: Schema.Boolean,
  /** Databases that anybody may connect to. */
  open: Schema.Array(Schema.String),
  registryOwner: Schema.NullOr(Schema.String),
  authUserExists: Schema.Boolean,
  authDatabaseExists: Schema.Boolean,
  authUserConnects: Schema.Boolean
})
type Facts = typeof Facts.Type

const facts = ({ pooler, template }: Settings): Sql.Fragment => {
  const authUser = Sql.text(pooler?.authUser ?? "")
  const authDatabase = Sql.text(pooler?.authDbname ?? "")
  return Sql.sql`SELECT
    current_setting('server_version') AS version,
    current_setting('server_version_num')::int / 10000 AS major,
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS "isSuperuser",
    pg_is_in_recovery() AS "isStandby",
    EXISTS (SELECT FROM pg_database WHERE datname = ${Sql.text(template)} AND datistemplate) AS "templateExists",
    (SELECT coalesce(json_agg(DISTINCT d.datname), '[]') FROM pg_database d,
      aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
      WHERE d.datallowconn AND a.grantee = 0 AND a.privilege_type = 'CONNECT') AS open,
    (SELECT datdba::regrole::text FROM pg_database WHERE datname = ${Sql.text(Registry.database)}) AS "registryOwner",
    EXISTS (SELECT FROM pg_roles WHERE rolname = ${authUser}) AS "authUserExists",
    EXISTS (SELECT FROM pg_database WHERE datname = ${authDatabase}) AS "authDatabaseExists",
    coalesce((SELECT has_database_privilege(r.oid, d.oid, 'CONNECT') FROM pg_roles r, pg_database d
      WHERE r.rolname = ${authUser} AND d.datname = ${authDatabase}), false) AS "authUserConnects"`
}

const text = (statements: ReadonlyArray<Sql.Fragment>): string => Sql.script(statements).sql

const versionFindings = ({ major }: Facts): ReadonlyArray<Finding> => {
  const finding = (severity: Finding["severity"], id: string, message: string) => [{ severity, id, message, sql: "" }]
  if (major < 15) return finding("problem", "version_too_old", "PostgreSQL 15 is the oldest that is served.")
  if (major === 15) {
    return finding(
      "warning",
      "version_15",
      "On PostgreSQL 15 whoever has CREATEROLE, and so the provisioner, is nearly a superuser: prefer 16 or newer."
    )
  }
  if (major > 18) return finding("warning", "version_not_tested", "This version of PostgreSQL was not tested.")
  return []
}

const serverFindings = ({ primary, template }: Settings, found: Facts): ReadonlyArray<Finding> => {
  const { user } = primary
  const warnings: ReadonlyArray<readonly [boolean, Finding]> = [
    [
      found.isSuperuser,
      {
        severity: "warning",
        id: "superuser",
        message: "The provisioner is a superuser, which it need not be.",
        sql: text([Sql.sql`ALTER ROLE ${Sql.name(user)} NOSUPERUSER`])
      }
    ],
    [
      found.isStandby,
      { severity: "problem", id: "standby", message: "The server is a standby: name the primary.", sql: "" }
    ],
    [
      !found.templateExists,
      { severity: "problem", id: "template", message: `The template ${template} is not one, or is not there.`, sql: "" }
    ],
    [
      found.registryOwner !== null && found.registryOwner !== user,
      {
        severity: "problem",
        id: "registry_of_another",
        message: `The registry on this server belongs to ${found.registryOwner}: another provider serves this shard.`,
        sql: ""
      }
    ]
  ]
  return warnings.flatMap(([applies, finding]) => (applies ? [finding] : []))
}

const openFindings = ({ primary }: Settings, { open }: Facts): ReadonlyArray<Finding> =>
  open
    .filter((database) => database !== Registry.database)
    .map((database) => ({
      severity: "warning",
      id: "open_database",
      message: `Every tenant may connect to the database ${database}.`,
      sql: text(BootstrapSql.keepOut(database, primary.user))
    }))

const poolerFindings = ({ pooler, template }: Settings, found: Facts): ReadonlyArray<Finding> => {
  if (pooler === undefined) return []
  const { authDbname, authUser } = pooler
  const problem = (id: string, message: string, sql = ""): ReadonlyArray<Finding> => [
    { severity: "problem", id, message, sql }
  ]
  if (!found.authUserExists) return problem("auth_user_missing", `The pooler's role ${authUser} is not there.`)
  if (authDbname === undefined) {
    return template === "template1"
      ? []
      : problem(
          "auth_query_in_tenant",
          "Without auth_dbname (PgBouncer 1.19 or newer) the pooler looks users up inside the tenant's database, where a clone of template0 has no function for it: set pooler.authDbname, or template to template1."
        )
  }
  if (!found.authDatabaseExists) return problem("auth_dbname_missing", `The database ${authDbname} is not there.`)
  if (found.authUserConnects) return []
  return problem(
    "auth_user_kept_out",
    `The pooler's role ${authUser} may not connect to ${authDbname}.`,
    text([Sql.sql`GRANT CONNECT ON DATABASE ${Sql.name(authDbname)} TO ${Sql.name(authUser)}`])
  )
}

/**
 * Asks the server, as the provisioner, in any database.
 *
 * @category operations
 * @since 0.1.0
 */
export const run = Effect.fn("Preflight.run")(function* (
  connection: Connection,
  settings: Settings
): Effect.fn.Return<Report, PostgresError> {
  const [found] = yield* connection.query(facts(settings), Facts)
  if (found === undefined) return yield* Effect.die(new Error("one row was asked for"))
  const requirements = Requirements.of(settings)
  const held = yield* connection.query(
    Sql.sql`SELECT ARRAY[${Sql.list(requirements.map(({ holds }) => holds))}] AS held`,
    Schema.Struct({ held: Schema.Array(Schema.Boolean) })
  )
  const missing = requirements
    .filter((_, index) => held[0]?.held[index] !== true)
    .map(({ grant, id, why }): Finding => ({
      severity: "problem",
      id,
      message: `The provisioner lacks a privilege: ${why}.`,
      sql: text([grant])
    }))
  return {
    serverVersion: found.version,
    findings: [
      ...missing,
      ...versionFindings(found),
      ...serverFindings(settings, found),
      ...poolerFindings(settings, found),
      ...openFindings(settings, found)
    ]
  }
})

const endpointFinding = (id: string, message: string, severity: Finding["severity"] = "problem"): Finding => ({
  severity,
  id,
  message,
  sql: ""
})

const ofRefusal = ({ endpoint }: Settings, error: PostgresError): ReadonlyArray<Finding> => {
  const { host, port, sslmode } = endpoint
  const at = `the endpoint ${host}:${port} that tenants are told`
  switch (error._tag) {
    case "TlsRefused":
      return [endpointFinding("endpoint_tls", `Nobody gets to ${at} by its sslmode ${sslmode}: ${error.problem}.`)]
    case "LoginRefused":
      // A stranger is not let in: there is somebody who refuses it. By pg_hba.conf whoever comes by this sslmode or from here may be meant.
      return /pg_hba\.conf/u.test(error.problem)
        ? [endpointFinding("endpoint_hba", `At ${at} pg_hba.conf may keep tenants out: ${error.problem}.`, "warning")]
        : []
    case "ConnectionLost":
    case "StatementRefused":
    case "Unreachable":
      return [endpointFinding("endpoint_unreachable", `From here nobody gets to ${at}: ${error.problem}.`)]
  }
}

/**
 * Knocks at the endpoint that tenants are told, as somebody who is not there: the provisioner's password is not for a pooler.
 *
 * @category operations
 * @since 0.1.0
 */
export const endpoint = Effect.fn("Preflight.endpoint")(function* (
  settings: Settings
): Effect.fn.Return<ReadonlyArray<Finding>, never, Connector> {
  const { connect } = yield* Connector
  const stranger = yield* Names.tenant
  const password = Redacted.make(yield* Names.password)
  const knocked = connect({
    ...settings.endpoint,
    user: stranger,
    password,
    database: stranger,
    session: "tenant"
  })
  const { host, port } = settings.endpoint
  return yield* Effect.match(Effect.scoped(knocked), {
    onFailure: (error) => ofRefusal(settings, error),
    onSuccess: () => [
      endpointFinding(
        "endpoint_open",
        `The endpoint ${host}:${port} lets in a user that there is not, by any password.`
      )
    ]
  })
})

/**
 * Whether the shard can serve.
 *
 * @category predicates
 * @since 0.1.0
 */
export const passes = ({ findings }: Report): boolean => findings.every(({ severity }) => severity === "warning")
