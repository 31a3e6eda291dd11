/**
 * A new record: a place in the quota and one on a shard, then the record, then both are settled. Where no shard has room now, the record
 * is written without one, and the controllers place it when one has.
 */
import { Client } from "@berth/kube/Client"
import * as KubeError from "@berth/kube/KubeError"
import { Effect, FiberSet, Option, Result, Schedule, type Scope } from "effect"
import type * as Api from "../../Api.ts"
import { Audit } from "../../Audit.ts"
import { Caller } from "../../Caller.ts"
import * as Consent from "../../Consent.ts"
import type { Consumer } from "../../Consumer.ts"
import * as Credentials from "../../Credentials.ts"
import { Database } from "../../Database.ts"
import * as Ledger from "../../Ledger.ts"
import * as Names from "../../Names.ts"
import * as Placement from "../../Placement.ts"
import { Problem } from "../../Problem.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { type RawDatabase, Records } from "../../Records.ts"
import { Shard } from "../../Shard.ts"
import { callerOf } from "./caller.ts"
import { asProblem, isOpen } from "./failures.ts"

export interface Wanted {
  readonly id: Api.Summary["id"]
  readonly parameters: Api.Parameters
}

export interface Creation {
  /** The record that was written; none where somebody else has written one of this id. */
  readonly create: (wanted: Wanted) => Effect.Effect<Option.Option<RawDatabase>, Problem, Caller>
  /** Notes that its places are in its record: nobody waits for it. */
  readonly settle: (record: Database) => Effect.Effect<void>
}

const patience = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("10 seconds")]).pipe(
  Schedule.jittered
)

interface Named extends Wanted {
  readonly consumer: Consumer
  readonly databaseName: Database["spec"]["databaseName"]
}

/** A Shard, by what a record has of it. */
type ShardRef = NonNullable<Database["spec"]["shardRef"]>

const draft = (
  namespace: string,
  { consumer, databaseName, id, parameters }: Named,
  shardRef: Option.Option<ShardRef>
) => ({
  metadata: {
    name: Names.record(consumer.metadata.name, id),
    namespace,
    finalizers: [Consent.finalizer]
  },
  spec: {
    consumerRef: { name: consumer.metadata.name, uid: consumer.metadata.uid },
    externalId: id,
    databaseName,
    roleName: databaseName,
    credentialsSecretRef: { name: Names.credentials(databaseName), key: Credentials.key },
    labels: parameters.labels ?? {},
    shardSelector: { matchLabels: parameters.shardSelector?.matchLabels ?? {} },
    ...(Option.isSome(shardRef) ? { shardRef: shardRef.value } : {})
  }
})

const exhausted = (consumer: Consumer) =>
  new Problem({
    code: "quota_exceeded",
    detail: `all ${consumer.spec.quota.maxDatabases} databases of the quota are there; deleted ones count until they are dropped`
  })

/**
 * What is begun here is brought to an end, whether or not somebody waits for it: otherwise a place would be taken for nothing. The
 * fibers that do so end with the scope.
 */
export const make = Effect.fnUntraced(function* (
  namespace: string
): Effect.fn.Return<Creation, never, Audit | Client | Records | Scope.Scope> {
  const client = yield* Client
  const audit = yield* Audit
  const records = yield* Records
  const run = yield* FiberSet.makeRuntime<never, void, never>()
  const withClient = Effect.provideService(Client, client)

  /** The ledgers that its places are in. */
  const booksOf = (consumer: Database["spec"]["consumerRef"], shardRef: Option.Option<ShardRef>) => [
    Placement.bookOfConsumer({ metadata: consumer }, namespace),
    ...Option.toArray(shardRef).map((metadata) => Placement.bookOfShard({ metadata }, namespace))
  ]

  const given = (books: ReadonlyArray<Ledger.Book>, change: typeof Ledger.settle, databaseName: string) =>
    withClient(Effect.forEach(books, (book) => change(book, databaseName), { concurrency: 2, discard: true }))

  const settle = ({ spec }: Database) =>
    Effect.sync(() => {
      const books = booksOf(spec.consumerRef, Option.fromUndefinedOr(spec.shardRef))
      run(Effect.ignore(Effect.retry(given(books, Ledger.settle, spec.databaseName), patience)))
    })

  const giveBack = (books: ReadonlyArray<Ledger.Book>, databaseName: string) =>
    run(Effect.ignore(Effect.retry(given(books, Ledger.cancel, databaseName), patience)))

  /** Asks until it is known whether the record was written, and keeps its places, or gives them back. */
  const resolve = (books: ReadonlyArray<Ledger.Book>, name: string, databaseName: string, tell: Effect.Effect<void>) =>
    Effect.retry(KubeError.orNone(client.get(Database, { name, namespace })), patience).pipe(
      Effect.map(Option.exists(({ spec }) => spec.databaseName === databaseName)),
      Effect.tap((isWritten) => (isWritten ? tell : Effect.void)),
      Effect.flatMap((isWritten) =>
        Effect.retry(given(books, isWritten ? Ledger.settle : Ledger.cancel, databaseName), patience)
      ),
      Effect.ignore
    )

  const admitted = Effect.fnUntraced(function* ({ consumer, databaseName, id }: Named) {
    const { maxDatabases } = consumer.spec.quota
    yield* Placement.admit(consumer, databaseName, namespace).pipe(
      withClient,
      Effect.catchIf(Placement.Reasons.quota_exceeded.is, () =>
        Effect.andThen(
          Effect.flatMap(callerOf, (caller) =>
            audit.record({ event: "quota.denied", ...caller, externalId: id, maxDatabases })
          ),
          Effect.fail(exhausted(consumer))
        )
      ),
      asProblem
    )
  })

  /** Whoever cannot have one now waits for the controllers, which say why. */
  const placed = Effect.fnUntraced(function* ({ consumer, databaseName, parameters }: Named) {
    const all = yield* Effect.forEach(yield* records.shards, (shard) => Effect.option(Shard.decode(shard)))
    const shardSelector = { matchLabels: parameters.shardSelector?.matchLabels ?? {} }
    const request = { databaseName, consumer, shardSelector, namespace, shards: all.flatMap(Option.toArray) }
    const { metadata } = yield* withClient(Placement.place(request)).pipe(ProviderMetrics.stepTook("place"))
    return { name: metadata.name, uid: metadata.uid }
  }, Effect.option)

  const told = Effect.fnUntraced(function* ({ consumer, databaseName, id }: Named, shardRef: Option.Option<ShardRef>) {
    yield* audit.record({
      event: "database.requested",
      ...(yield* callerOf),
      externalId: id,
      database: databaseName
    })
    if (Option.isNone(shardRef)) return
    const subject = { consumer: consumer.metadata.name, externalId: id, database: databaseName }
    yield* audit.record({ event: "database.placed", ...subject, shard: shardRef.value.name })
  })

  const create = Effect.fnUntraced(function* (wanted: Wanted) {
    const caller = yield* Caller
    const { consumer } = caller
    const named: Named = { ...wanted, consumer, databaseName: yield* Names.tenant }
    const { databaseName } = named
    const [quota, shardRef] = yield* Effect.all([Effect.result(admitted(named)), placed(named)], { concurrency: 2 })
    const books = booksOf(consumer.metadata, shardRef)
    if (Result.isFailure(quota)) {
      if (Option.isSome(shardRef)) giveBack(books.slice(1), databaseName)
      return yield* Effect.fail(quota.failure)
    }
    const object = draft(namespace, named, shardRef)
    const created = yield* Effect.result(client.create(Database, object))
    const tell = Effect.provideService(told(named, shardRef), Caller, caller)
    if (Result.isSuccess(created)) {
      yield* tell
      return Option.some(created.success)
    }
    const { failure } = created
    if (isOpen(failure)) run(resolve(books, object.metadata.name, databaseName, tell))
    else giveBack(books, databaseName)
    return failure._tag === "AlreadyExists" ? Option.none<RawDatabase>() : yield* asProblem(Effect.fail(failure))
  }, Effect.uninterruptible)

  return { create, settle }
})
