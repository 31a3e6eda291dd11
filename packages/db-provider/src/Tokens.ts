/**
 * Whose token it is that a request came with.
 *
 * **Guarantees**
 * - D17: of tokens only SHA-256 digests are known here. One that comes is compared in constant time with every digest there is, so that
 *   how long it takes says nothing but how many there are.
 * - D17: a change of a Consumer, or of a Secret that it names, counts as soon as the watch tells of it: a consumer that is disabled, a
 *   token that is taken away, or one that is added. An expired token is refused from that very moment.
 * - A token of which two consumers have the digest is nobody's; each of them says so in its condition Ready: see `Consumers`.
 *
 * **Caveats**
 * - While the API server is out of reach, what was known last counts on.
 *
 * @since 0.1.0
 */
import { Caches } from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Health from "@berth/kube/Health"
import type { Identifier } from "@berth/kube/Identifier"
import type { KubeObject } from "@berth/kube/KubeObject"
import { createHash, timingSafeEqual } from "node:crypto"
import { Clock, Data, Effect, FiberMap, Option, Schedule, type Scope, Stream } from "effect"
import type { Denial } from "./AuditEvent.ts"
import type { Consumer } from "./Consumer.ts"
import * as Digests from "./internal/api/digests.ts"
import { Records } from "./Records.ts"
import { Settings } from "./Settings.ts"

/**
 * A request that is not let in.
 *
 * @category errors
 * @since 0.1.0
 */
export class Denied extends Data.TaggedError("Denied")<{
  readonly reason: Denial
  /** Whose token it is, where that is known. */
  readonly owner: Option.Option<Owner>
}> {}

/**
 * Whose token it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner {
  readonly consumer: Consumer
  /** The token's name. */
  readonly token: Identifier
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Tokens {
  /** Who sent this `Authorization` header. */
  readonly ownerOf: (authorization: string | undefined) => Effect.Effect<Owner, Denied>
  /** Whether all that there was at the start has been read. */
  readonly isComplete: Effect.Effect<boolean>
}

const patience = Schedule.min([Schedule.exponential("250 millis"), Schedule.spaced("10 seconds")]).pipe(
  Schedule.jittered
)

/** RFC 6750: the word in any case, then the token in its own alphabet. */
const bearer = /^bearer +(?<token>[A-Za-z0-9._~+/-]+=*) *$/iu

const headerMax = 1024

const presented = (authorization: string | undefined): Effect.Effect<Buffer, Denied> => {
  if (authorization === undefined) return Effect.fail(new Denied({ reason: "missing", owner: Option.none() }))
  const token = authorization.length > headerMax ? undefined : bearer.exec(authorization)?.groups?.["token"]
  return token === undefined
    ? Effect.fail(new Denied({ reason: "malformed", owner: Option.none() }))
    : Effect.succeed(createHash("sha256").update(token, "utf8").digest())
}

/** Each is compared, also after one was found. */
const matching = (candidates: ReadonlyArray<Digests.Candidate>, digest: Buffer): ReadonlyArray<Digests.Candidate> =>
  candidates.filter((candidate) => timingSafeEqual(candidate.digest, digest))

const judged = (matches: ReadonlyArray<Digests.Candidate>, nowMs: number): Effect.Effect<Owner, Denied> => {
  const owners = new Set(matches.map(({ consumer }) => consumer.metadata.name))
  const [match] = matches.toSorted((one, other) => other.expiresAtMs - one.expiresAtMs)
  if (match === undefined) return Effect.fail(new Denied({ reason: "unknown", owner: Option.none() }))
  if (owners.size > 1) {
    return Effect.andThen(
      Effect.logError("a token is refused, since several consumers have it", { consumers: [...owners] }),
      Effect.fail(new Denied({ reason: "unknown", owner: Option.none() }))
    )
  }
  const owner = { consumer: match.consumer, token: match.token }
  if (match.expiresAtMs <= nowMs) return Effect.fail(new Denied({ reason: "expired", owner: Option.some(owner) }))
  if (match.consumer.spec.disabled) return Effect.fail(new Denied({ reason: "disabled", owner: Option.some(owner) }))
  return Effect.succeed(owner)
}

/**
 * Knows the tokens until the scope closes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Tokens, never, Caches | Client | Records | Scope.Scope | Settings> = Effect.gen(
  function* () {
    const client = yield* Client
    const records = yield* Records
    const { releaseNamespace: namespace } = yield* Settings
    const candidatesOf = Digests.make({ client, records, namespace })
    const known = new Map<string, ReadonlyArray<Digests.Candidate>>()
    let candidates: ReadonlyArray<Digests.Candidate> = []
    let complete = false

    const refresh = (name: string) =>
      candidatesOf(name).pipe(
        Effect.tapError((error) => Effect.logWarning("cannot read a consumer's tokens; trying again", error)),
        // Without an end.
        Effect.retry(patience),
        Effect.orDie,
        Effect.map((found) => {
          if (found.length === 0) known.delete(name)
          else known.set(name, found)
          candidates = [...known.values()].flat()
        })
      )
    yield* Effect.forkScoped(
      following(
        refresh,
        Effect.sync(() => (complete = true))
      )
    )
    yield* Health.registerIfAny("ready", {
      name: "tokens",
      problem: Effect.sync(() => (complete ? Option.none() : Option.some("the consumers' tokens are not read yet")))
    })

    return {
      ownerOf: Effect.fnUntraced(function* (authorization) {
        const digest = yield* presented(authorization)
        return yield* judged(matching(candidates, digest), yield* Clock.currentTimeMillis)
      }),
      isComplete: Effect.sync(() => complete)
    }
  }
)

/** Refreshes all consumers, then each of them whenever it, or a Secret that it names, has changed. */
const following = (refresh: (consumer: string) => Effect.Effect<void>, completed: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const caches = yield* Caches
    const { definitions } = yield* Records
    const consumers = yield* caches.open(definitions.consumers)
    const secrets = yield* caches.open(definitions.secrets)
    const running = yield* FiberMap.make<string>()
    // A newer change takes the place of the one before, whose reads may be out of date.
    const refreshed = ({ metadata }: KubeObject) => FiberMap.run(running, metadata.name, refresh(metadata.name))

    yield* consumers.synced
    yield* secrets.synced
    const all = yield* consumers.list()
    yield* Effect.forEach(all, ({ metadata }) => refresh(metadata.name), { concurrency: 8, discard: true })
    yield* completed
    const onConsumers = Stream.runForEach(consumers.changes, ({ object }) => refreshed(object))
    const onSecrets = Stream.runForEach(secrets.changes, ({ initial, object }) =>
      initial
        ? Effect.void
        : Effect.flatMap(consumers.byIndex("secret", object.metadata.name), (concerned) =>
            Effect.forEach(concerned, refreshed, { discard: true })
          )
    )
    yield* Effect.all([onConsumers, onSecrets], { concurrency: "unbounded", discard: true })
  })
