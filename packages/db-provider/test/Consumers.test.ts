import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Kind from "@berth/kube/Kind"
import * as Await from "@berth/testing/Await"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Consumer } from "../src/Consumer.ts"
import * as shared from "../src/internal/consumers/shared.ts"
import { Settings } from "../src/Settings.ts"
import * as Bench from "./support/ProviderBench.ts"

type Raw = Kind.Raw<typeof Consumer>

const saying = ({ metadata }: Raw, reason: string) =>
  Await.until(
    Consumer,
    { name: metadata.name },
    ({ status }) => Conditions.get(status?.conditions, "Ready")?.reason === reason
  )
const edited = ({ metadata }: Raw, spec: object) =>
  Client.use((client) => client.patch(Consumer, { name: metadata.name }, { type: "merge", patch: { spec } }))
const secret = (name: string, text: string) => {
  const data = { sha256: Buffer.from(text).toString("base64") }
  const metadata = { name, namespace: Bench.namespace }
  return Client.use((client) => client.apply(Builtin.Secret, { metadata, data }, { force: true }))
}

describe("Consumers", { timeout: 60_000 }, () => {
  layer(Bench.clusterOnly, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("one whose tokens are usable is Ready, until it is disabled, and again after", () =>
      Effect.gen(function* () {
        yield* Bench.startedWithout
        const by = yield* Bench.consumer("usable")
        yield* saying(by, "provisioned")

        yield* edited(by, { disabled: true })
        yield* saying(by, "disabled")
        yield* edited(by, { disabled: false })
        yield* saying(by, "provisioned")
      }).pipe(Effect.scoped)
    )

    it.effect("a token that is missing, or is no SHA-256, is named, and looked at when its Secret changes", () =>
      Effect.gen(function* () {
        yield* Bench.startedWithout
        const tokens = [{ name: "second", sha256SecretRef: { name: "token-later", key: "sha256" } }]
        const by = yield* Bench.consumer("later", { tokens })
        const found = yield* saying(by, "token_missing")
        assert.include(Conditions.get(found.status?.conditions, "Ready")?.message, "token-later")

        yield* secret("token-later", "the token itself")
        yield* saying(by, "token_unusable")
        yield* secret("token-later", `${"0123456789abcdef".repeat(4)}\n`)
        yield* saying(by, "provisioned")
      }).pipe(Effect.scoped)
    )

    it.effect("D17: who has another one's token says so, and names that one, until each has its own", () =>
      Effect.gen(function* () {
        yield* Bench.startedWithout
        const one = yield* Bench.consumer("one")
        yield* saying(one, "provisioned")
        const two = yield* Bench.consumer("two", { tokens: one.spec.tokens })
        const messages = yield* Effect.forEach([one, two], (each) =>
          Effect.map(saying(each, "token_shared"), ({ status }) => Conditions.get(status?.conditions, "Ready")?.message)
        )
        assert.include(messages[0], "a token of two:")
        assert.include(messages[1], "a token of one:")
        for (const message of messages) assert.notInclude(message, Bench.digestOf("one"))

        yield* edited(two, { tokens: two.spec.tokens.map((token) => ({ ...token, sha256SecretRef: ofTwo })) })
        yield* Effect.forEach([one, two], (each) => saying(each, "provisioned"))

        // The same by what is in the Secrets, by one that is disabled, and mended by who goes.
        yield* edited(two, { disabled: true })
        yield* saying(two, "disabled")
        yield* secret("token-of-two", Bench.digestOf("one").toUpperCase())
        yield* edited(two, { disabled: false })
        yield* Effect.forEach([one, two], (each) => saying(each, "token_shared"))
        yield* Bench.deleteConsumer(two)
        yield* Bench.consumerGone(two)
        yield* saying(one, "provisioned")
      }).pipe(Effect.scoped)
    )
    it.effect("D17: whose token it is, is asked of the API server, not of what was seen before", () =>
      Effect.gen(function* () {
        const { metadata } = yield* Bench.consumer("asked")
        const book = shared.makeBook()
        book.note(metadata.name, [Bench.digestOf("another"), Bench.digestOf("asked")])
        const sharers = (digest: string) => shared.sharers(book, "who-asks", digest)

        assert.deepStrictEqual(yield* sharers(Bench.digestOf("another")), [])
        assert.deepStrictEqual(yield* sharers(Bench.digestOf("asked")), ["asked"])
      }).pipe(Effect.provideService(Settings, { releaseNamespace: Bench.namespace, instance: "test" }))
    )

    const ofTwo = { name: "token-of-two", key: "sha256" }

    it.effect("one without a token, and one whose tokens have all expired, say so", () =>
      Effect.gen(function* () {
        yield* Bench.startedWithout
        const by = yield* Bench.consumer("expired")
        const [token] = by.spec.tokens
        yield* edited(by, { tokens: [] })
        yield* saying(by, "no_token")

        yield* edited(by, { tokens: [{ ...token, expiresAt: "2020-01-01T00:00:00Z" }] })
        yield* saying(by, "tokens_expired")
      }).pipe(Effect.scoped)
    )

    it.effect("D14: one that is deleted is kept while databases are its own; they are counted", () =>
      Effect.gen(function* () {
        yield* Bench.startedWithout
        const by = yield* Bench.consumer("kept")
        const database = yield* Bench.put(by, "one", { shardSelector: { matchLabels: { shard: "none-such" } } })
        yield* Await.until(Consumer, { name: "kept" }, ({ status }) => status?.used === 1)

        yield* Bench.deleteConsumer(by)
        yield* saying(by, "held_by_databases")
        yield* Bench.remove(database)
        yield* Bench.gone(database)
        yield* Bench.consumerGone(by)
      }).pipe(Effect.scoped)
    )
  })
})
