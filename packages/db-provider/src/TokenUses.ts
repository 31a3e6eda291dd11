/**
 * When each token was used last, to the minute, in the status of its Consumer.
 *
 * **Guarantees**
 * - Nobody waits for it. A token's use is written at most once a minute by each replica, on the version of the status that it was judged
 *   by, so that nothing that others write is lost.
 *
 * **Caveats**
 * - A use that could not be written is forgotten: the next one tells.
 *
 * @since 0.1.0
 */
import { Caches } from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Clock, Effect, FiberMap, Option, type Scope } from "effect"
import { Consumer } from "./Consumer.ts"
import { Records, type RawConsumer } from "./Records.ts"
import type { Owner } from "./Tokens.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface TokenUses {
  /** Returns at once. */
  readonly note: (owner: Owner) => Effect.Effect<void>
}

const minuteMs = 60_000

/** Others write into the status too: conditions, and how much is used. */
const attemptsMax = 4

interface Use {
  readonly name: string
  readonly lastUsedAt: string
}

/** What is to be there, or none where that, or more, is there. Uses of tokens that were taken away go. */
const wanted = ({ spec, status }: RawConsumer, use: Use): Option.Option<ReadonlyArray<Use>> => {
  const before = status?.tokens ?? []
  const known = before.find(({ name }) => name === use.name)
  if (known !== undefined && Date.parse(known.lastUsedAt) >= Date.parse(use.lastUsedAt)) return Option.none()
  const names = new Set(spec.tokens.map(({ name }) => name))
  if (!names.has(use.name)) return Option.none()
  return Option.some([...before.filter(({ name }) => name !== use.name && names.has(name)), use])
}

/**
 * Notes uses until the scope closes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<TokenUses, never, Caches | Client | Records | Scope.Scope> = Effect.gen(function* () {
  const client = (yield* Caches).observe(yield* Client)
  const records = yield* Records
  const noted = new Map<string, number>()
  const writing = yield* FiberMap.make<string>()

  const write = Effect.fnUntraced(function* (
    consumer: RawConsumer,
    use: Use,
    attempt = 1
  ): Effect.fn.Return<void, KubeError.KubeError> {
    const tokens = wanted(consumer, use)
    if (Option.isNone(tokens)) return
    const { name, resourceVersion, uid } = consumer.metadata
    const patch = { metadata: { resourceVersion, uid }, status: { tokens: tokens.value } }
    const written = client.patch(Consumer, { name }, { type: "merge", patch }, { subresource: "status" })
    yield* Effect.catchTag(written, "Conflict", (conflict) =>
      attempt >= attemptsMax
        ? Effect.fail(conflict)
        : Effect.flatMap(client.get(Consumer, { name }), (current) => write(current, use, attempt + 1))
    )
  })

  return {
    note: Effect.fnUntraced(function* ({ consumer, token }) {
      const minute = Math.floor((yield* Clock.currentTimeMillis) / minuteMs)
      const { name, uid } = consumer.metadata
      const key = `${uid}/${token}`
      if ((noted.get(key) ?? -1) >= minute) return
      for (const [each, last] of noted) if (last < minute) noted.delete(each)
      noted.set(key, minute)
      const lastUsedAt = new Date(minute * minuteMs).toISOString().replace(".000Z", "Z")
      const current = yield* records.consumer(name)
      if (Option.isNone(current) || current.value.metadata.uid !== uid) return
      const written = Effect.catch(write(current.value, { name: token, lastUsedAt }), (error) =>
        Effect.logDebug("cannot note that a token was used", error)
      )
      yield* FiberMap.run(writing, key, written, { onlyIfMissing: true })
    })
  }
})
