/**
 * The controller of consumers: whether they can be let in, and how many databases they have.
 *
 * **Guarantees**
 * - One that is being deleted is kept while databases are its own, so that these are served on (D14).
 * - Places of its quota that are nobody's any more are given back.
 * - D17: a token that several consumers have lets nobody in; each of them says so, and names the others, until that is mended.
 *
 * **Caveats**
 * - It lets nobody in and keeps nobody out: the API does, by the Consumer itself.
 *
 * @since 0.1.0
 */
import type { Caches } from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import { Client } from "@berth/kube/Client"
import type * as Controller from "@berth/kube/Controller"
import type { Ref } from "@berth/kube/KubeObject"
import * as Watch from "@berth/kube/Watch"
import * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Clock, DateTime, Duration, Effect, Queue, Stream } from "effect"
import { Consumer } from "./Consumer.ts"
import { Database } from "./Database.ts"
import * as shared from "./internal/consumers/shared.ts"
import * as ledgers from "./internal/ledgers.ts"
import * as rounds from "./internal/rounds.ts"
import { namesOf, ofName } from "./internal/shown.ts"
import { isDigest } from "./internal/tokenDigest.ts"
import * as Ledger from "./Ledger.ts"
import * as Placement from "./Placement.ts"
import { type RawDatabase, Records } from "./Records.ts"
import { Settings } from "./Settings.ts"
import * as Tombstones from "./Tombstones.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why a consumer is not Ready, or not gone.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `disabled` | it is disabled | nothing | enable it |
 * | `no_token` | it has no token | nothing | give it one |
 * | `token_missing` | a token's Secret is not there, or has no such key | looked at when it changes | create it, or correct the reference |
 * | `token_unusable` | what is there is no SHA-256 in hexadecimal digits | looked at when it changes | write `sha256sum` of the token |
 * | `token_shared` | another consumer has the same token, so that it lets nobody in | looked at when one of them changes | give each a token of its own |
 * | `tokens_expired` | none of its tokens is valid any more | nothing | give it a new one |
 * | `held_by_databases` | it is being deleted, and databases are its own | looked at when one of them goes | delete them by the API |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("consumer_check", {
  disabled: Disposition.terminal("The consumer is disabled."),
  no_token: Disposition.userActionRequired("The consumer has no token: give it one."),
  token_missing: Disposition.userActionRequired(
    "The token {token} is missing: the Secret {secret} is not there, or has no key {key}."
  ),
  token_unusable: Disposition.userActionRequired(
    "The Secret {secret} of the token {token} holds no SHA-256 in hexadecimal digits under {key}."
  ),
  token_shared: Disposition.userActionRequired(
    "The token {token} lets nobody in, since it is also a token of {consumers}: give each a token of its own."
  ),
  tokens_expired: Disposition.userActionRequired("All tokens of the consumer have expired: give it a new one."),
  held_by_databases: Disposition.yield("Kept until these databases are gone: {databases}.")
})

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Caches | Client | Records | Settings

type Step = Effect.fn.Return<void, ProvisionError, Exclude<Services, Caches>>

/** What a process remembers of consumers between passes. */
interface Memory {
  readonly ledgers: Map<string, ledgers.LedgerMemory>
  readonly tokens: shared.Book
  /** Whom a pass found to be concerned by what it has seen. */
  readonly concerned: Queue.Queue<Ref>
}

/** How late it is noticed that a token has expired, or that a place is nobody's. */
const every = Duration.minutes(5)

/** More than there are consumers with one token: of those that fall behind only the latest matter. */
const concernedMax = 256

const finalizer = "db.berth.dev/consumer"

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.gen(function* () {
  const records = yield* Records
  const { consumers, databases, secrets } = records.definitions
  const concerned = yield* Queue.sliding<Ref>(concernedMax)
  const memory: Memory = { ledgers: new Map(), tokens: shared.makeBook(), concerned }
  return Manager.make({
    kind: Consumer,
    definition: consumers,
    finalizer,
    inputs: [secrets, consumers],
    watches: [
      Watch.gathered(
        databases,
        (change) => (changesCount(change) ? [{ name: change.object.spec.consumerRef.name }] : []),
        "1 second"
      ),
      Watch.stream(Stream.fromQueue(concerned)),
      rounds.watch(consumers, every, () => true)
    ],
    provisioner: (consumer) =>
      Provisioner.make("consumer", { provision: serve(consumer, memory), deprovision: letGo(consumer, memory) }),
    status: ({ metadata }) => Effect.map(records.countOfConsumer(metadata.uid), (used) => ({ used }))
  })
})

const changesCount = ({ _tag }: Change<RawDatabase>): boolean => _tag !== "Modified"

// --- Serving

const serve = Effect.fnUntraced(function* (consumer: Consumer, memory: Memory): Step {
  yield* tend(consumer, memory)
  const { disabled, tokens } = consumer.spec
  const all = yield* shared.read(tokens)
  // Also of one that is disabled: its token keeps out whoever else has it.
  yield* noted(consumer, all, memory)
  if (disabled) return yield* Reasons.disabled()
  if (tokens.length === 0) return yield* Reasons.no_token()
  yield* Effect.forEach(all, checkToken, { discard: true })
  yield* Effect.forEach(all, (each) => checkShared(consumer, each, memory), { discard: true })
  const nowMs = yield* Clock.currentTimeMillis
  const isExpired = ({ expiresAt }: Token) => expiresAt !== undefined && DateTime.toEpochMillis(expiresAt) <= nowMs
  if (tokens.every(isExpired)) return yield* Reasons.tokens_expired()
})

type Token = Consumer["spec"]["tokens"][number]

const noted = ({ metadata }: Consumer, all: ReadonlyArray<shared.Read>, { concerned, tokens }: Memory) => {
  const digests = all.flatMap(({ digest }) => (digest !== undefined && isDigest(digest) ? [digest] : []))
  const refs = tokens.note(metadata.name, digests).map((name) => ({ name }))
  return Queue.offerAll(concerned, refs)
}

const checkToken = Effect.fnUntraced(function* ({
  digest,
  token
}: shared.Read): Effect.fn.Return<void, ProvisionError> {
  const { key, name: secret } = token.sha256SecretRef
  const parameters = { token: token.name, secret, key: ofName(key) }
  if (digest === undefined) return yield* Reasons.token_missing(parameters)
  if (!isDigest(digest)) return yield* Reasons.token_unusable(parameters)
})

const checkShared = Effect.fnUntraced(function* (
  { metadata }: Consumer,
  { digest = "", token }: shared.Read,
  { tokens }: Memory
): Step {
  const consumers = yield* shared.sharers(tokens, metadata.name, digest)
  if (consumers.length > 0) return yield* Reasons.token_shared({ token: token.name, consumers: consumers.map(ofName) })
})

const tend = Effect.fnUntraced(function* ({ metadata }: Consumer, memory: Memory): Step {
  const { releaseNamespace } = yield* Settings
  const { countOfConsumer } = yield* Records
  const known = memory.ledgers.get(metadata.uid) ?? new Map()
  memory.ledgers.set(metadata.uid, known)
  const book = Placement.bookOfConsumer({ metadata }, releaseNamespace)
  yield* KubeFailure.classified(ledgers.tend(book, countOfConsumer(metadata.uid), known))
})

// --- Letting go

const letGo = Effect.fnUntraced(function* ({ metadata }: Consumer, memory: Memory): Step {
  const { releaseNamespace: namespace } = yield* Settings
  const databases = yield* ownedBy(metadata.uid, namespace)
  if (databases.length > 0) {
    return yield* Reasons.held_by_databases({ databases: namesOf(databases) }, { after: "1 minute" })
  }
  yield* KubeFailure.classified(Ledger.remove(Placement.bookOfConsumer({ metadata }, namespace)))
  yield* KubeFailure.classified(Tombstones.remove(metadata, namespace))
  memory.ledgers.delete(metadata.uid)
  memory.tokens.note(metadata.name, [])
})

/** The cache may not have a record that was just written: before the last trace goes, the API server is asked. */
const ownedBy = Effect.fnUntraced(function* (uid: string, namespace: string) {
  const known = yield* Effect.flatMap(Records, ({ databasesOfConsumer }) => databasesOfConsumer(uid))
  if (known.length > 0) return known
  const { items } = yield* KubeFailure.classified(Client.use((client) => client.list(Database, { namespace })))
  return items.filter(({ spec }) => spec.consumerRef.uid === uid)
})
