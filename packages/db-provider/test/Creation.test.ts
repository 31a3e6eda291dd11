import { Client } from "@berth/kube/Client"
import * as KubeError from "@berth/kube/KubeError"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Latch, Layer, Option } from "effect"
import { Caller } from "../src/Caller.ts"
import { Consumer } from "../src/Consumer.ts"
import { Database } from "../src/Database.ts"
import * as Creation from "../src/internal/api/creation.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Placement from "../src/Placement.ts"
import { Records } from "../src/Records.ts"
import { Shard } from "../src/Shard.ts"
import * as Bench from "./support/ApiBench.ts"

const namespace = Bench.namespace

/** Whether the shard takes databases. */
const shardIs = Effect.fnUntraced(function* (status: "True" | "False") {
  const client = yield* Client
  const records = yield* Records
  const condition = { type: "Ready", status, reason: "r", message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" }
  const patch = { status: { conditions: [condition] } }
  yield* client.patch(Shard, { name: "a" }, { type: "merge", patch }, { subresource: "status" })
  yield* Effect.repeat(Effect.andThen(Effect.yieldNow, records.shard("a")), {
    until: (found) => Option.exists(found, (shard) => shard.status?.conditions?.[0]?.status === status)
  })
})

/** A consumer that calls. */
const caller = Effect.fnUntraced(function* (name: string, maxDatabases = 10) {
  const client = yield* Client
  const raw = yield* client.create(Consumer, { metadata: { name }, spec: { tokens: [], quota: { maxDatabases } } })
  const consumer = yield* Consumer.decode(raw)
  return {
    consumer,
    token: consumer.metadata.name,
    requestId: "request",
    remoteAddress: "127.0.0.1",
    stillIn: Effect.void
  }
})
type By = Caller["Service"]

const idOf = (by: By) => by.consumer.metadata.name

const created = (by: By) =>
  Effect.flatMap(Creation.make(namespace), ({ create }) => create({ id: idOf(by), parameters: {} })).pipe(
    Effect.provideService(Caller, by)
  )

const booksOf = Effect.fnUntraced(function* ({ consumer }: By) {
  const { metadata } = yield* Client.use((client) => client.get(Shard, { name: "a" }))
  const shard = Placement.bookOfShard({ metadata: { name: "a", uid: metadata.uid ?? "" } }, namespace)
  return { shard, consumer: Placement.bookOfConsumer(consumer, namespace) }
})

/** What a ledger says, once nobody is about to come. */
const atRest = (book: Ledger.Book) =>
  Effect.repeat(Effect.andThen(Effect.yieldNow, Ledger.peek(book)), {
    until: Option.match({ onNone: () => true, onSome: ({ entering }) => entering.length === 0 })
  }).pipe(Effect.map(Option.match({ onNone: () => 0, onSome: ({ settled }) => settled })))

const takenOf = Effect.fnUntraced(function* (by: By) {
  const books = yield* booksOf(by)
  return [yield* atRest(books.consumer), yield* atRest(books.shard)]
})

describe("The creation of a record", () => {
  layer(Layer.provideMerge(Bench.replica, Bench.cluster), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D24: it has its place already: the quota and the shard are asked at once, and then it is written", () =>
      Effect.gen(function* () {
        yield* shardIs("True")
        const by = yield* caller("quick")
        const client = yield* Client
        const both = yield* Latch.make()
        const sent: Array<string> = []
        const create: typeof client.create = (type, ...rest) => {
          sent.push(type.kind)
          if (type.kind === Database.kind) return client.create(type, ...rest)
          // Neither is answered before the other one is sent.
          if (sent.length === 2) both.openUnsafe()
          return Effect.andThen(both.await, client.create(type, ...rest))
        }
        const creation = yield* Effect.provideService(Creation.make(namespace), Client, { ...client, create })

        const wanted = creation.create({ id: idOf(by), parameters: {} })
        const made = yield* Effect.flatMap(Effect.provideService(wanted, Caller, by), Effect.fromOption)
        yield* creation.settle(yield* Database.decode(made))

        assert.strictEqual(made.spec.shardRef?.name, "a")
        assert.deepStrictEqual(sent, ["ConfigMap", "ConfigMap", "Database"])
        assert.deepStrictEqual(yield* takenOf(by), [1, 1])
      }).pipe(Effect.scoped)
    )

    it.effect(
      "D1: where no shard takes databases, it is written without a place, for the controllers to find one",
      () =>
        Effect.gen(function* () {
          yield* shardIs("False")

          const made = yield* Effect.flatMap(created(yield* caller("patient")), Effect.fromOption)

          assert.isUndefined(made.spec.shardRef)
        }).pipe(Effect.scoped)
    )

    it.effect("D1: who has no place in its quota keeps none on a shard", () =>
      Effect.gen(function* () {
        yield* shardIs("True")
        const by = yield* caller("full", 0)
        const [, before] = yield* takenOf(by)

        const problem = yield* Effect.flip(created(by))

        assert.strictEqual(problem.code, "quota_exceeded")
        assert.deepStrictEqual(yield* takenOf(by), [0, before])
      }).pipe(Effect.scoped)
    )

    const lost: ReadonlyArray<readonly [string, boolean, number]> = [
      ["was written", true, 1],
      ["was not written", false, 0]
    ]
    it.effect.each(lost)(
      "D3, D22: if nobody knows whether it %s, both places are what it says later, and so is the audit log",
      ([what, isWritten, by]) =>
        Effect.gen(function* () {
          yield* shardIs("True")
          const who = yield* caller(what.replaceAll(" ", "-"))
          const client = yield* Client
          const [, before = 0] = yield* takenOf(who)
          const timeout = new KubeError.Timeout({
            verb: "create",
            resource: "databases",
            namespace,
            name: undefined,
            deadlineMs: 1
          })
          const create: typeof client.create = (type, ...rest) => {
            if (type.kind !== Database.kind) return client.create(type, ...rest)
            return Effect.andThen(isWritten ? Effect.ignore(client.create(type, ...rest)) : Effect.void, timeout)
          }

          const problem = yield* Effect.flip(created(who)).pipe(Effect.provideService(Client, { ...client, create }))
          const taken = yield* takenOf(who)

          assert.strictEqual(problem.code, "unavailable")
          assert.deepStrictEqual(taken, [by, before + by])
          const told = (yield* Bench.Told).filter((each) => "consumer" in each && each.consumer === idOf(who))
          assert.deepStrictEqual(
            told.map(({ event }) => event),
            isWritten ? ["database.requested", "database.placed"] : []
          )
        }).pipe(Effect.scoped)
    )
  })
})
