/** Records as the API reads them, and what it takes to connect to one. */
import * as KubeError from "@berth/kube/KubeError"
import { Client } from "@berth/kube/Client"
import { Effect, Option } from "effect"
import type * as Api from "../../Api.ts"
import * as Credentials from "../../Credentials.ts"
import { Database } from "../../Database.ts"
import { Problem } from "../../Problem.ts"
import { phaseOf, type RawDatabase, type Records } from "../../Records.ts"
import { Shard } from "../../Shard.ts"
import { asProblem } from "./failures.ts"
import * as Views from "./views.ts"

export interface Lookup {
  readonly understood: (raw: RawDatabase) => Effect.Effect<Database, Problem>
  /** From the cache. */
  readonly known: (name: string) => Effect.Effect<Option.Option<Database>, Problem>
  /** From the API server. */
  readonly fresh: (name: string) => Effect.Effect<Option.Option<Database>, Problem>
  /** From the cache; that it is not there is asked of the API server. */
  readonly found: (name: string) => Effect.Effect<Option.Option<Database>, Problem>
  /** None for one that was held before there was anything to connect to. */
  readonly connection: (record: Database) => Effect.Effect<Option.Option<Api.Connection>, Problem>
}

const incomplete = new Problem({
  code: "unavailable",
  detail: "what it takes to connect to this database is not complete; whoever runs the provider has to look",
  retryAfterSeconds: 30
})

export const make = ({
  client,
  namespace,
  records
}: {
  readonly client: Client["Service"]
  readonly records: Records["Service"]
  readonly namespace: string
}): Lookup => {
  const understood = (raw: RawDatabase) => asProblem(Database.decode(raw))

  const known = (name: string) =>
    Effect.flatMap(
      records.database(name),
      Option.match({ onNone: () => Effect.succeedNone, onSome: (raw) => Effect.asSome(understood(raw)) })
    )

  const fresh = (name: string) =>
    client.get(Database, { name, namespace }).pipe(Effect.flatMap(Database.decode), KubeError.orNone, asProblem)

  const shardOf = ({ name, uid }: { readonly name: string; readonly uid: string }) =>
    Effect.gen(function* () {
      const cached = yield* records.shard(name)
      const raw = Option.isSome(cached) ? cached.value : yield* client.get(Shard, { name })
      const shard = yield* Shard.decode(raw)
      return shard.metadata.uid === uid ? Option.some(shard) : Option.none()
    }).pipe(
      Effect.catchTag("NotFound", () => Effect.succeedNone),
      asProblem
    )

  const connection = Effect.fnUntraced(function* (record: Database) {
    const { databaseName, shardRef } = record.spec
    if (shardRef === undefined) return Option.none()
    const read = Effect.provideService(Credentials.read(databaseName, namespace), Client, client)
    const [password, shard] = yield* Effect.all([asProblem(read), shardOf(shardRef)], { concurrency: 2 })
    if (Option.isSome(password) && Option.isSome(shard)) {
      return Option.some(Views.connectionOf(record, shard.value, password.value))
    }
    if (phaseOf(record) !== "Ready") return Option.none()
    yield* Effect.logError("a database is Ready, and its shard or its password is not there", {
      database: databaseName,
      shard: shardRef.name
    })
    return yield* incomplete
  })

  return {
    understood,
    known,
    fresh,
    found: (name) =>
      Effect.flatMap(known(name), (cached) => (Option.isSome(cached) ? Effect.succeed(cached) : fresh(name))),
    connection
  }
}
