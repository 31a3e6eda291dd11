/**
 * `berth-db-provider inventory`: compares what is on the shards with their registries and the records, and adopts what has no record.
 *
 * **Guarantees**
 * - D14: after records were lost, `--adopt` makes them anew from the shards' own registries; with `--from` it moves them here from
 *   another namespace. While their kind is being deleted it lets go of those that only their finalizer holds, so that the kind can be
 *   installed again. Without `--adopt` nothing is changed. The exit code is 0 where everything fits, 1 where something does not, 2
 *   where the call is wrong, and 3 where nobody could look.
 *
 * @since 0.1.0
 */
import * as KubeError from "@berth/kube/KubeError"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as CommandLine from "@berth/kube/CommandLine"
import * as Kind from "@berth/kube/Kind"
import { Data, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Adoption from "../Adoption.ts"
import { type Connection, Connector } from "../Connector.ts"
import { place } from "../Configuration.ts"
import * as Consent from "../Consent.ts"
import { Consumer } from "../Consumer.ts"
import { Database } from "../Database.ts"
import * as givenShard from "../internal/givenShard.ts"
import * as texts from "../internal/inventoryText.ts"
import * as Inventory from "../Inventory.ts"
import * as Ledger from "../Ledger.ts"
import * as Placement from "../Placement.ts"
import type { PostgresError } from "../PostgresError.ts"
import * as Registry from "../Registry.ts"
import { Shard } from "../Shard.ts"
import * as ShardServer from "../ShardServer.ts"

const flags = {
  shard: Flag.String("shard").pipe(Flag.withDescription("Only this Shard. Default: all."), Flag.optional),
  adopt: Flag.Boolean("adopt").pipe(
    Flag.withDescription("Make records for tenants that have none, from what the shards know of them."),
    Flag.withDefault(false)
  ),
  from: Flag.String("from").pipe(
    Flag.withDescription("With --adopt: move the records and passwords of this namespace here."),
    Flag.optional
  ),
  resetPasswords: Flag.Boolean("reset-passwords").pipe(
    Flag.withDescription(
      "With --adopt: give a new password to a tenant whose Secret is lost. Its users are locked out."
    ),
    Flag.withDefault(false)
  ),
  ...place
}

interface Given {
  readonly shard: Option.Option<string>
  readonly adopt: boolean
  readonly from: Option.Option<string>
  readonly resetPasswords: boolean
  readonly namespace: string
}

/**
 * A shard could not be asked.
 *
 * @category errors
 * @since 0.1.0
 */
export class ShardNotAsked extends Data.TaggedError("ShardNotAsked")<{
  readonly shard: string
  readonly cause: PostgresError
}> {
  override get message() {
    return `${this.shard}: ${this.cause.message}`
  }
}

/** A record of this shard, in this namespace. */
const recordedOn = (shard: Shard, record: Kind.Object<typeof Database>): ReadonlyArray<Inventory.Recorded> => {
  const { metadata, spec } = record
  if (spec.shardRef?.name !== shard.metadata.name) return []
  const { databaseName, externalId, roleName } = spec
  const tenant = { databaseName, roleName, externalId, consumer: spec.consumerRef.name, recordUid: metadata.uid }
  return [{ ...tenant, isClosed: Consent.isGiven(record), isHeld: Consent.isHeld(record) }]
}

const records = Effect.fnUntraced(function* (shard: Shard, namespace: string) {
  const { items } = yield* Client.Client.use((client) => client.list(Database, { namespace })).pipe(
    // The kind itself is not there.
    Effect.catchTag("NotFound", () => Effect.succeed({ items: [] }))
  )
  const decoded = yield* Effect.forEach(items, (item) => Effect.option(Database.decode(item)))
  return decoded.flatMap(Option.match({ onNone: () => [], onSome: (record) => recordedOn(shard, record) }))
})

/** A server without a registry has no tenants. */
const nothing: Inventory.Stock = { databases: new Set(), roles: new Set(), entries: [] }

const adoptable: ReadonlySet<Inventory.Difference["kind"]> = new Set(["unrecorded", "held"])

/** Adopts those that can be, in order, and says what became of each. */
const adoptAll = Effect.fnUntraced(function* (
  given: Given,
  shard: Shard,
  connection: Connection,
  differences: ReadonlyArray<Inventory.Difference>,
  isLeaving: boolean
) {
  const entries = differences.flatMap(({ entry, kind }) => (adoptable.has(kind) ? Option.toArray(entry) : []))
  const consumers = new Map<string, Option.Option<Consumer>>()
  const consumerOf = Effect.fnUntraced(function* (name: string) {
    const known = consumers.get(name) ?? (yield* consumer(name))
    consumers.set(name, known)
    return known
  })
  const one = Effect.fnUntraced(function* (entry: Registry.Entry) {
    const owner = yield* consumerOf(entry.consumer)
    if (Option.isNone(owner)) return texts.outcome(entry, "consumer_missing")
    const { namespace, resetPasswords: resetsPasswords } = given
    const from = Option.getOrUndefined(given.from)
    const request = { entry, shard, consumer: owner.value, namespace, from, resetsPasswords }
    return texts.outcome(entry, yield* isLeaving ? Adoption.letGo(request) : Adoption.adopt(connection, request))
  })
  const lines = yield* Effect.forEach(entries, one)
  if (entries.length > 0 && !isLeaving) {
    yield* Ledger.audit(Placement.bookOfShard(shard, given.namespace))
    const owners = [...consumers.values()].flatMap(Option.toArray)
    yield* Effect.forEach(owners, (owner) => Ledger.audit(Placement.bookOfConsumer(owner, given.namespace)))
  }
  return lines
})

/** No record can be made then. */
const kindIsLeaving = Client.Client.use((client) =>
  client.get(Builtin.CustomResourceDefinition, { name: Kind.crd(Database).metadata.name })
).pipe(
  Effect.map(({ metadata }) => metadata.deletionTimestamp !== undefined),
  Effect.catchTag("NotFound", () => Effect.succeed(true))
)

const consumer = (name: string) =>
  Client.Client.use((client) => client.get(Consumer, { name })).pipe(
    Effect.flatMap((raw) => Effect.orDie(Consumer.decode(raw))),
    KubeError.orNone
  )

/** What is on one shard; adopts where that is asked for, and looks again. Returns whether everything fits. */
const ofShard = Effect.fnUntraced(function* (given: Given, shard: Shard) {
  const password = yield* givenShard.passwordOf(shard, given.namespace)
  const server = yield* ShardServer.make(ShardServer.settingsOf(shard, password))
  const opened = Registry.open(server.inDatabase)
  const connection = yield* Effect.asSome(opened).pipe(
    Effect.catchIf(Registry.isMissing, () => Effect.succeedNone),
    Effect.mapError((cause) => new ShardNotAsked({ shard: shard.metadata.name, cause }))
  )
  const look = Effect.gen(function* () {
    const stock = Option.isNone(connection) ? nothing : yield* Inventory.take(connection.value)
    const recorded = yield* records(shard, given.namespace)
    return { stock, recorded, differences: Inventory.compare(stock, recorded) }
  })
  const before = yield* look
  const { name } = shard.metadata
  if (!given.adopt || Option.isNone(connection)) {
    yield* CommandLine.print(texts.ofShard(name, before))
    return before.differences.length === 0
  }
  const isLeaving = yield* kindIsLeaving
  const lines = yield* adoptAll(given, shard, connection.value, before.differences, isLeaving)
  if (isLeaving) {
    // Where the last one has gone there is nothing to look at any more.
    yield* CommandLine.print(
      [`${name}: the kind of its records is being deleted, or is not there`, ...lines].join("\n")
    )
    return false
  }
  const after = yield* look
  yield* CommandLine.print([...lines, texts.ofShard(name, after)].join("\n"))
  return after.differences.length === 0
}, Effect.scoped)

const shards = Effect.fnUntraced(function* ({ shard }: Given) {
  if (Option.isSome(shard)) return [yield* givenShard.named(shard.value)]
  const { items } = yield* Client.Client.use((client) => client.list(Shard))
  return yield* Effect.forEach(items, ({ metadata }) => givenShard.named(metadata.name))
})

const inventory = Effect.fn("InventoryCommand")(function* (given: Given) {
  if (!given.adopt && (Option.isSome(given.from) || given.resetPasswords))
    return yield* new CommandLine.UsageError({ problem: "--from and --reset-passwords go with --adopt" })
  // After a disaster that took one shard, the others have to be told all the same.
  const codes = yield* Effect.forEach(yield* shards(given), (shard) =>
    ofShard(given, shard).pipe(
      Effect.map((fits) => (fits ? 0 : 1)),
      Effect.catchTag("ShardNotAsked", notAsked)
    )
  )
  return Math.max(0, ...codes)
})

const notAsked = ({ message }: ShardNotAsked) =>
  Effect.sync(() => {
    process.stderr.write(`berth-db-provider: ${message}\n`)
    return 3
  })

/**
 * The subcommand.
 *
 * @category commands
 * @since 0.1.0
 */
export const command = Command.make("inventory", flags, ({ context, kubeconfig, ...given }) =>
  inventory(given).pipe(
    Effect.provide(Client.layerDetected({ context, kubeconfig })),
    Effect.provide(Connector.layer()),
    CommandLine.toExit("berth-db-provider", () => 3),
    Effect.flatMap((code) => (code === 0 ? Effect.void : Effect.fail(new CommandLine.CommandFailed({ code })))),
    CommandLine.interruptedIsFailed
  )
).pipe(
  Command.withDescription(
    "Compare shards, their registries and the records. --adopt makes records anew for tenants that have none."
  )
)
