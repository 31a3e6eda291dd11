/**
 * Which shard a new database goes to, and whether its consumer may have it.
 *
 * **Guarantees**
 * - D1: the accepting, ready shard with the fewest databases gets it, the first by name of several; what counts is the {@link Ledger},
 *   so that replicas that place at once never exceed `maxDatabases` or a quota.
 * - D25: it asks the ledgers, of which there is one a shard, and no records.
 *
 * @since 0.1.0
 */
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Kind from "@berth/kube/Kind"
import type * as KubeError from "@berth/kube/KubeError"
import * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect } from "effect"
import type { Consumer } from "./Consumer.ts"
import { Database } from "./Database.ts"
import * as Ledger from "./Ledger.ts"
import * as Names from "./Names.ts"
import { conditions, type Shard } from "./Shard.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why a database has no place.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `no_shard` | no shard matches the selectors | looked at again every minute | label a shard, or correct the selectors |
 * | `no_shard_ready` | those that match do not accept, or are not ready | looked at again every minute | see the shards' conditions |
 * | `no_room` | those that match and are ready are full | looked at again every minute | add a shard, or raise `maxDatabases` |
 * | `quota_exceeded` | the consumer has all that it may have | parked | raise its quota, or delete something |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("placement", {
  no_shard: Disposition.yield("No shard matches what was asked for."),
  no_shard_ready: Disposition.yield("No shard that matches accepts databases now."),
  no_room: Disposition.yield("No shard that matches has room for another database."),
  quota_exceeded: Disposition.terminal("{consumer} has all {places} databases that it may have.")
})

/** Shards are added and mended by people. */
const slowly = { after: "1 minute" } as const

/**
 * What a shard is judged by.
 *
 * @category models
 * @since 0.1.0
 */
export interface Candidate {
  readonly shard: Shard
  readonly taken: number
}

const matches = (labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value)

/**
 * Whether a shard may have databases of this consumer that ask for these labels.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isSelected = (
  { metadata }: Shard,
  consumer: Consumer,
  selector: { readonly matchLabels: Readonly<Record<string, string>> }
): boolean =>
  matches(metadata.labels, consumer.spec.shardSelector.matchLabels) && matches(metadata.labels, selector.matchLabels)

/**
 * Whether a shard takes new databases now.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isAccepting = ({ metadata, spec, status }: Shard): boolean =>
  spec.accepting && metadata.deletionTimestamp === undefined && Conditions.isTrue(status?.conditions, conditions.ready)

/**
 * Those with room, the best first: the fewest databases, then the name, by its code points, since collations differ.
 *
 * @category combinators
 * @since 0.1.0
 */
export const ranked = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<Candidate> =>
  candidates
    .filter(({ shard, taken }) => taken < shard.spec.maxDatabases)
    .toSorted((one, other) => one.taken - other.taken || (one.shard.metadata.name < other.shard.metadata.name ? -1 : 1))

/**
 * Whose ledger it is: a Shard, or a Consumer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner {
  readonly metadata: { readonly name: string; readonly uid: string }
}

/**
 * The ledger of a shard's places.
 *
 * @category constructors
 * @since 0.1.0
 */
export const bookOfShard = ({ metadata }: Owner, namespace: string): Ledger.Book => ({
  name: Names.ledger("shard", metadata.name),
  namespace,
  uid: metadata.uid,
  members: membersOf(namespace, ({ spec }) => spec.shardRef?.uid === metadata.uid)
})

/**
 * The ledger of a consumer's quota.
 *
 * @category constructors
 * @since 0.1.0
 */
export const bookOfConsumer = ({ metadata }: Owner, namespace: string): Ledger.Book => ({
  name: Names.ledger("consumer", metadata.name),
  namespace,
  uid: metadata.uid,
  members: membersOf(namespace, ({ spec }) => spec.consumerRef.uid === metadata.uid)
})

/** Every record counts until it is gone, those that are deleted and not dropped among them. */
const membersOf = (
  namespace: string,
  counts: (record: Kind.Raw<typeof Database>) => boolean
): Effect.Effect<ReadonlyArray<string>, KubeError.KubeError, Client> =>
  Client.use((client) => client.list(Database, { namespace })).pipe(
    Effect.map(({ items }) => items.flatMap((item) => (counts(item) ? [item.spec.databaseName] : [])))
  )

/**
 * Gives a new database a place of its consumer's quota. Asked before its record is written; settled after.
 *
 * **Errors**: `quota_exceeded`, and those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const admit = Effect.fn("Placement.admit")(function* (
  consumer: Consumer,
  databaseName: string,
  namespace: string
): Effect.fn.Return<void, ProvisionError, Client> {
  const places = consumer.spec.quota.maxDatabases
  const book = bookOfConsumer(consumer, namespace)
  if (yield* KubeFailure.classified(Ledger.reserve(book, databaseName, places))) return
  return yield* Reasons.quota_exceeded({ consumer: consumer.metadata.name, places })
})

/**
 * What is to be placed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly databaseName: string
  readonly consumer: Consumer
  readonly shardSelector: { readonly matchLabels: Readonly<Record<string, string>> }
  /** All shards there are. */
  readonly shards: ReadonlyArray<Shard>
  /** The release namespace, where records and ledgers are. */
  readonly namespace: string
}

/**
 * Chooses a shard and takes a place there. Its name has to be written into the record before the place is settled.
 *
 * **Details**: who had a place already, and died before it could write that down, gets the same one.
 *
 * **Errors**: {@link Reasons}, and those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const place = Effect.fn("Placement.place")(function* (
  request: Request
): Effect.fn.Return<Shard, ProvisionError, Client> {
  const { consumer, databaseName, namespace, shardSelector, shards } = request
  const selected = shards.filter((shard) => isSelected(shard, consumer, shardSelector))
  if (selected.length === 0) return yield* Reasons.no_shard(slowly)
  const accepting = selected.filter(isAccepting)
  if (accepting.length === 0) return yield* Reasons.no_shard_ready(slowly)
  const candidates = yield* Effect.forEach(
    accepting,
    (shard) =>
      Effect.map(Ledger.standing(bookOfShard(shard, namespace), databaseName), (standing) => ({ shard, ...standing })),
    { concurrency: 8 }
  ).pipe(KubeFailure.classified)
  const mine = candidates.find(({ isEntering }) => isEntering)
  if (mine !== undefined) return mine.shard
  for (const { shard } of ranked(candidates)) {
    const book = bookOfShard(shard, namespace)
    const { maxDatabases } = shard.spec
    if (yield* KubeFailure.classified(Ledger.reserve(book, databaseName, maxDatabases))) return shard
  }
  return yield* Reasons.no_room(slowly)
})
