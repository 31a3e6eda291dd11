/** Does not believe what the objects say: asks PostgreSQL. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { Environment } from "@berth/shared-components/Environment"
import * as Postgres from "@berth/testing/Postgres"
import { Data, Effect } from "effect"
import { managementNamespace } from "./Stage.ts"

export class NotProved extends Data.TaggedError("NotProved")<{ readonly claim: string; readonly seen: string }> {
  override get message() {
    return `Not proved: ${this.claim}. What was seen: ${this.seen}.`
  }
}

/** How an environment's components log in. */
export interface Login {
  readonly environment: string
  readonly database: string
  readonly user: string
  readonly password: string
}

const text = (secret: Builtin.Secret, key: string): string =>
  Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8")

/** A component that is a database, the key of its binding that says how to connect, and where the application reads it. */
const databases = {
  db: { key: "URL", variable: "DATABASE_URL" },
  orders: { key: "uri", variable: "ORDERS_URL" }
} as const

/** Reads what the environment was given: the binding of its database, and the variables of its application. */
export const loginOf = Effect.fn("Proof.login")(function* (component: keyof typeof databases, environment: string) {
  const client = yield* Client
  const object = yield* client.get(Environment, { name: environment, namespace: managementNamespace })
  const namespace = object.status?.namespace ?? ""
  const binding = yield* client.get(Builtin.Secret, { name: `${component}-binding`, namespace })
  const variables = yield* client.get(Builtin.Secret, { name: "app-env", namespace })
  const { key, variable } = databases[component]
  if (text(variables, variable) !== text(binding, key)) {
    return yield* new NotProved({
      claim: `app-env of ${environment} has in ${variable} how to connect to ${component}`,
      seen: "another value"
    })
  }
  const found: Login = {
    environment,
    database: text(binding, "database"),
    user: text(binding, "username"),
    password: text(binding, "password")
  }
  return found
})

/** That of the database that a Job has made. */
export const login = (environment: string) => loginOf("db", environment)

/** The login works and may write. */
export const writes = Effect.fn("Proof.writes")(function* ({ database, password, user }: Login) {
  const server = yield* Postgres.Postgres
  const target = { database, user, password }
  yield* server.query("create table if not exists visits (at timestamptz default now())", [], target)
  yield* server.query("insert into visits default values", [], target)
})

/** The server lets nobody in by this login, or not into this database. */
export const refused = Effect.fn("Proof.refused")(function* (login: Login, database: string) {
  const server = yield* Postgres.Postgres
  const answer = yield* Effect.result(server.query("select 1", [], { ...login, database }))
  if (answer._tag === "Success") {
    return yield* new NotProved({ claim: `${login.environment} cannot enter ${database}`, seen: "it can" })
  }
  return answer.failure.code
})

/** Neither the database nor the login exists any more. */
export const gone = Effect.fn("Proof.gone")(function* ({ database, environment, user }: Login) {
  const server = yield* Postgres.Postgres
  const left = yield* server.query(
    "select datname as name from pg_database where datname = $1 union all select rolname from pg_roles where rolname = $2",
    [database, user]
  )
  if (left.length > 0) {
    return yield* new NotProved({
      claim: `nothing of ${environment} is left on the server`,
      seen: `${left.length} objects`
    })
  }
})

/** The tenants' databases and logins that the server has. */
export const tenants = Effect.fn("Proof.tenants")(function* () {
  const server = yield* Postgres.Postgres
  const databases = yield* server.query("select datname as name from pg_database where datname like 't\\_%' order by 1")
  const roles = yield* server.query("select rolname as name from pg_roles where rolname like 't\\_%' order by 1")
  return { databases: databases.map(({ name }) => String(name)), roles: roles.map(({ name }) => String(name)) }
})
