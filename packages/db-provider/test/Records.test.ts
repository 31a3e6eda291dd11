import { Client } from "@berth/kube/Client"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Database } from "../src/Database.ts"
import * as ledgers from "../src/internal/ledgers.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Names from "../src/Names.ts"
import * as Placement from "../src/Placement.ts"
import { phaseOf, Records } from "../src/Records.ts"
import { Shard } from "../src/Shard.ts"
import * as Shards from "../src/Shards.ts"
import * as Bench from "./support/ApiBench.ts"

const owner = { name: "ci", uid: "uid-of-ci" }
const read = Effect.die(new Error("records were read to be counted"))

/** A record on the shard, in its phase. */
const placed = Effect.fnUntraced(function* (id: string, phase: "Ready" | "Held" | "SoftDeleted") {
  const client = yield* Client
  const { metadata } = yield* client.get(Shard, { name: "a" })
  const name = yield* Names.tenant
  const made = yield* client.create(Database, {
    metadata: Bench.released(Names.record(owner.name, id)),
    spec: {
      consumerRef: owner,
      externalId: id,
      databaseName: name,
      roleName: name,
      credentialsSecretRef: { name: Names.credentials(name), key: "password" },
      shardRef: { name: "a", uid: metadata.uid ?? "" }
    }
  })
  yield* Bench.phased(made, phase)
  return name
})

/** The ledger, once the cache has it so. */
const seen = (book: Ledger.Book, leaving: ReadonlyArray<string>) =>
  Effect.flatMap(Effect.andThen(Effect.yieldNow, Ledger.peek(book)), Effect.fromOption).pipe(
    Effect.repeat({ until: (content) => content.leaving.join() === leaving.join() })
  )

describe("Records", () => {
  layer(Layer.provideMerge(Bench.replica, Bench.cluster), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D25: shards and consumers are counted, and their ledgers tended, without a look at a record", () =>
      Effect.gen(function* () {
        const client = yield* Client
        const all = yield* Records
        const phases = ["Ready", "Ready", "Held", "SoftDeleted"] as const
        const names = yield* Effect.forEach(phases, (phase, index) => placed(`id-${index}`, phase))
        yield* Effect.repeat(Effect.andThen(Effect.yieldNow, all.databases), {
          until: (found) => found.filter((each) => phaseOf(each) !== "Pending").length === phases.length
        })
        const records = {
          ...all,
          databases: read,
          databasesOfConsumer: () => read,
          databasesOfShard: () => read,
          databasesByName: () => read
        }
        const shard = yield* Effect.flatMap(client.get(Shard, { name: "a" }), Shard.decode)
        const book = Placement.bookOfConsumer({ metadata: owner }, Bench.namespace)
        const [first = "", second = ""] = names.map(String)
        // Counted from the records; then one whose record is gone, and one whose record is there, are about to leave.
        yield* Ledger.settle(book, first)
        yield* Ledger.release(book, "t_gone", Effect.succeed(true))
        yield* Ledger.release(book, second, Effect.succeed(true))
        yield* seen(book, ["t_gone", second])

        const status = yield* Shards.options(records).status(shard)
        const memory: ledgers.LedgerMemory = new Map()
        yield* Effect.provideService(ledgers.tend(book, records.countOfConsumer(owner.uid), memory), Records, records)

        assert.deepInclude(status, { databases: 4, held: 1, softDeleted: 1 })
        assert.strictEqual((yield* seen(book, [second])).settled, 2)
        // Of three that have a place two are counted: the one that is gone was none.
        assert.deepStrictEqual([...memory.keys()], ["the count"])
      })
    )
  })
})
