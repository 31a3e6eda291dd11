/** A consumer's databases, as the API finds them, waits for them and hands them over. */
import { Client } from "@berth/kube/Client"
import { Duration, Effect, Option } from "effect"
import type * as Api from "../../Api.ts"
import type { Audit } from "../../Audit.ts"
import * as AuditEvent from "../../AuditEvent.ts"
import { Caller } from "../../Caller.ts"
import * as Consent from "../../Consent.ts"
import type { Consumer } from "../../Consumer.ts"
import type { Database } from "../../Database.ts"
import * as Names from "../../Names.ts"
import { Problem } from "../../Problem.ts"
import { isGiven, phaseOf } from "../../Records.ts"
import * as Tombstones from "../../Tombstones.ts"
import { callerOf } from "./caller.ts"
import { asProblem } from "./failures.ts"
import type { Lookup } from "./lookup.ts"
import type { News } from "./news.ts"

type Id = Api.Summary["id"]

export interface Parts {
  readonly audit: Audit["Service"]
  readonly client: Client["Service"]
  readonly lookup: Lookup
  readonly namespace: string
  readonly news: News
  /** Fails when the program ends. */
  readonly stopping: Effect.Effect<never, Problem>
}

export interface Tenants {
  /** The caller's database of this id, by one way to find it; a problem where there is none, or was one. */
  readonly mine: (id: Id, find: Lookup["found"]) => Effect.Effect<Database, Problem, Caller>
  /** The latest that is known of a record; another one of its name is not it. */
  readonly latest: (record: Database) => Effect.Effect<Database, Problem>
  /** What `look` finds within the time, looking again at all news. */
  readonly within: <A, R>(
    name: string,
    waitSeconds: number,
    look: Effect.Effect<Option.Option<A>, Problem, R>
  ) => Effect.Effect<Option.Option<A>, Problem, R | Caller>
  /** How to connect to it, where it can be connected to: told to the audit log. */
  readonly handedOver: (record: Database) => Effect.Effect<Option.Option<Api.Connection>, Problem, Caller>
}

const notFound = new Problem({ code: "database_not_found", detail: "this consumer has no database of this id" })

const deleted = new Problem({
  code: "database_deleted",
  detail: "the database of this id was deleted, and its data is dropped; a PUT makes a new one"
})

export const isOf = ({ spec }: Database, { metadata }: Consumer): boolean => spec.consumerRef.uid === metadata.uid

/** A token may expire, or be taken away, while its owner waits. */
const stillIn = Effect.flatMap(Caller, (caller) => caller.stillIn)

const isServed = (record: Database): boolean => isGiven(phaseOf(record)) && !Consent.isGiven(record)

export const make = ({ audit, client, lookup, namespace, news, stopping }: Parts): Tenants => ({
  mine: Effect.fnUntraced(function* (id, find) {
    const { consumer } = yield* Caller
    const { name, uid } = consumer.metadata
    const record = yield* find(Names.record(name, id))
    if (Option.isSome(record) && isOf(record.value, consumer)) return record.value
    const dropped = Effect.provideService(Tombstones.find({ name, uid }, id, namespace), Client, client)
    return yield* Option.isSome(yield* asProblem(dropped)) ? deleted : notFound
  }),
  latest: (record) =>
    Effect.map(lookup.known(record.metadata.name), (known) =>
      Option.getOrElse(
        Option.filter(known, ({ metadata }) => metadata.uid === record.metadata.uid),
        () => record
      )
    ),
  within: (name, waitSeconds, look) =>
    waitSeconds === 0
      ? look
      : news
          .until(name, Effect.andThen(stillIn, look))
          .pipe(Effect.raceFirst(stopping), Effect.timeoutOption(Duration.seconds(waitSeconds))),
  handedOver: Effect.fnUntraced(function* (record) {
    if (!isServed(record)) return Option.none()
    const connection = yield* lookup.connection(record)
    if (Option.isSome(connection)) {
      const caller = yield* callerOf
      yield* audit.record({ event: "credentials.read", ...caller, ...AuditEvent.subjectOf(record) })
    }
    return connection
  })
})
