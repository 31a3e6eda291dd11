/** A new record: a place in the quota, then the record, then the place is settled. */
import { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Effect, FiberSet, Option, Schedule, type Scope } from "effect"
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
import type { RawDatabase } from "../../Records.ts"
import { asProblem } from "./failures.ts"

export interface Wanted {
  readonly id: Api.Summary["id"]
  readonly parameters: Api.Parameters
}

export interface Creation {
  /** The record that was written; none where somebody else has written one of this id. */
  readonly create: (wanted: Wanted) => Effect.Effect<Option.Option<RawDatabase>, Problem, Caller>
  /** Notes that its place is in its record: nobody has to wait for it. */
  readonly settle: (consumer: Consumer, databaseName: string) => Effect.Effect<void>
}

const patience = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("10 seconds")]).pipe(
  Schedule.jittered
)

/** After these nobody knows whether the record was written. */
const isOpen = ({ _tag }: KubeError.KubeError): boolean =>
  _tag === "Timeout" || _tag === "Unreachable" || _tag === "ServerError"

const draft = (namespace: string, consumer: Consumer, { id, parameters }: Wanted, databaseName: string) => ({
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
    shardSelector: { matchLabels: parameters.shardSelector?.matchLabels ?? {} }
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
): Effect.fn.Return<Creation, never, Audit | Client | Scope.Scope> {
  const client = yield* Client
  const audit = yield* Audit
  const run = yield* FiberSet.makeRuntime<never, void, never>()
  const withClient = Effect.provideService(Client, client)

  const given = (consumer: Consumer, change: typeof Ledger.settle, databaseName: string) =>
    withClient(change(Placement.bookOfConsumer(consumer, namespace), databaseName))

  const settle = (consumer: Consumer, databaseName: string) =>
    Effect.retry(given(consumer, Ledger.settle, databaseName), patience).pipe(Effect.ignore)

  /** Asks until it is known whether the record was written, and keeps its place, or gives it back. */
  const resolve = (consumer: Consumer, name: string, databaseName: string) =>
    Effect.gen(function* () {
      const found = yield* Effect.catchTag(
        Effect.asSome(client.get(Database, { name, namespace })),
        "NotFound",
        () => Effect.succeedNone
      )
      const isWritten = Option.exists(found, ({ spec }) => spec.databaseName === databaseName)
      yield* given(consumer, isWritten ? Ledger.settle : Ledger.cancel, databaseName)
    }).pipe(Effect.retry(patience), Effect.ignore)

  const create = Effect.fnUntraced(function* (wanted: Wanted) {
    const { consumer, remoteAddress, requestId, token } = yield* Caller
    const databaseName = yield* Names.tenant
    const object = draft(namespace, consumer, wanted, databaseName)
    const caller = { consumer: consumer.metadata.name, token, requestId, remoteAddress }
    const { maxDatabases } = consumer.spec.quota
    yield* Placement.admit(consumer, databaseName, namespace).pipe(
      withClient,
      Effect.catchIf(Placement.Reasons.quota_exceeded.is, () =>
        Effect.andThen(
          audit.record({ event: "quota.denied", ...caller, externalId: wanted.id, maxDatabases }),
          Effect.fail(exhausted(consumer))
        )
      ),
      asProblem
    )
    const created = yield* Effect.result(client.create(Database, object))
    if (created._tag === "Success") {
      yield* audit.record({
        event: "database.requested",
        ...caller,
        externalId: wanted.id,
        database: databaseName
      })
      return Option.some(created.success)
    }
    const { failure } = created
    if (isOpen(failure)) run(resolve(consumer, object.metadata.name, databaseName))
    else run(Effect.ignore(Effect.retry(given(consumer, Ledger.cancel, databaseName), patience)))
    return failure._tag === "AlreadyExists" ? Option.none<RawDatabase>() : yield* asProblem(Effect.fail(failure))
  }, Effect.uninterruptible)

  return { create, settle }
})
