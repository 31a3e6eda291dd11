import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { assert, describe, layer } from "@effect/vitest"
import { Clock, Effect, Option, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import { Consumer } from "../src/Consumer.ts"
import * as Tokens from "../src/Tokens.ts"
import * as TokenUses from "../src/TokenUses.ts"
import * as Bench from "./support/ApiBench.ts"

/** How many digests were compared. */
let compared = 0
vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof import("node:crypto")>()
  const timingSafeEqual: typeof crypto.timingSafeEqual = (one, other) => {
    compared += 1
    return crypto.timingSafeEqual(one, other)
  }
  return { ...crypto, timingSafeEqual }
})

const merge = (patch: object) => ({ type: "merge", patch }) as const

const changed = (name: string, spec: object) =>
  Client.use((client) => client.patch(Consumer, { name }, merge({ spec })))

const withToken = Effect.fnUntraced(function* (name: string, token: string, spec: object = {}) {
  const sha256SecretRef = yield* Bench.tokenSecret(`token-of-${name}`, token)
  yield* Client.use((client) =>
    client.create(Consumer, { metadata: { name }, spec: { tokens: [{ name: "first", sha256SecretRef }], ...spec } })
  )
})

/** `consumer/token`, or why not. */
const judged = (tokens: Tokens.Tokens, authorization: string | undefined) =>
  Effect.match(tokens.ownerOf(authorization), {
    onSuccess: ({ consumer, token }) => `${consumer.metadata.name}/${token}`,
    onFailure: ({ owner, reason }) =>
      Option.match(owner, { onNone: () => reason, onSome: ({ consumer }) => `${reason} ${consumer.metadata.name}` })
  })

/** Watches tell of what happened a moment later. */
const becomes = (tokens: Tokens.Tokens, token: string, expected: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.repeat(
    Effect.andThen(
      Effect.promise(() => new Promise(setImmediate)),
      judged(tokens, `Bearer ${token}`)
    ),
    {
      until: (found) => found === expected
    }
  )

describe("Tokens", { timeout: 60_000 }, () => {
  layer(Bench.parts)((it) => {
    const headers: ReadonlyArray<readonly [string | undefined, string]> = [
      [undefined, "missing"],
      ["", "malformed"],
      ["Bearer", "malformed"],
      ["Bearer ", "malformed"],
      ["Basic dXNlcjpwYXNz", "malformed"],
      ["Bearer two tokens", "malformed"],
      ["Bearer täken", "malformed"],
      ["Bearer a\u0000b", "malformed"],
      [`Bearer ${"a".repeat(2_000)}`, "malformed"],
      ["Bearer somebody-elses", "unknown"],
      ["bearer the-right-one", "headers/first"],
      ["BEARER   the-right-one ", "headers/first"]
    ]
    it.effect("D17: a header that is not a bearer token is told from a token that nobody has", () =>
      Effect.gen(function* () {
        const tokens = yield* Tokens.make
        yield* withToken("headers", "the-right-one")
        yield* becomes(tokens, "the-right-one", "headers/first")

        const found = yield* Effect.forEach(headers, ([header]) => judged(tokens, header))

        assert.deepStrictEqual(
          found,
          headers.map(([, expected]) => expected)
        )
      }).pipe(Effect.scoped)
    )

    it.effect("D17: every digest is compared, whether or not, and wherever, one is the token's", () =>
      Effect.gen(function* () {
        const tokens = yield* Tokens.make
        yield* Effect.forEach(["one", "two", "three"], (name) => withToken(`timing-${name}`, `token-${name}`))
        yield* Effect.forEach(["one", "two", "three"], (name) =>
          becomes(tokens, `token-${name}`, `timing-${name}/first`)
        )
        const comparisons = Effect.fnUntraced(function* (token: string) {
          compared = 0
          yield* judged(tokens, `Bearer ${token}`)
          return compared
        })

        const counts = yield* Effect.forEach(["token-one", "token-three", "unknown"], comparisons)

        assert.strictEqual(new Set(counts).size, 1)
        assert.isAtLeast(counts[0] ?? 0, 3)
      }).pipe(Effect.scoped)
    )

    it.effect("D17: a token is refused from the very moment that it expires", () =>
      Effect.gen(function* () {
        const tokens = yield* Tokens.make
        const nowMs = yield* Clock.currentTimeMillis
        const sha256SecretRef = yield* Bench.tokenSecret("token-that-expires", "short-lived")
        const expiresAt = new Date(nowMs + 10_000).toISOString()
        const token = { name: "first", sha256SecretRef, expiresAt }
        yield* Client.use((client) =>
          client.create(Consumer, { metadata: { name: "expires" }, spec: { tokens: [token] } })
        )
        yield* becomes(tokens, "short-lived", "expires/first")

        yield* TestClock.adjust(9_999)
        const before = yield* judged(tokens, "Bearer short-lived")
        yield* TestClock.adjust(1)
        const after = yield* judged(tokens, "Bearer short-lived")

        assert.deepStrictEqual([before, after], ["expires/first", "expired expires"])
      }).pipe(Effect.scoped)
    )

    it.effect("D17: a token is replaced by a second one without a gap, and refused once it is taken away", () =>
      Effect.gen(function* () {
        const tokens = yield* Tokens.make
        yield* withToken("rotates", "old")
        yield* becomes(tokens, "old", "rotates/first")
        const first = { name: "first", sha256SecretRef: { name: "token-of-rotates", key: "sha256" } }
        const second = { name: "second", sha256SecretRef: yield* Bench.tokenSecret("token-2-of-rotates", "new") }

        yield* changed("rotates", { tokens: [first, second] })
        yield* becomes(tokens, "new", "rotates/second")
        const both = [yield* judged(tokens, "Bearer old"), yield* judged(tokens, "Bearer new")]
        yield* changed("rotates", { tokens: [second] })
        yield* becomes(tokens, "old", "unknown")

        assert.deepStrictEqual(both, ["rotates/first", "rotates/second"])
        assert.strictEqual(yield* judged(tokens, "Bearer new"), "rotates/second")
      }).pipe(Effect.scoped)
    )

    it.effect("D17: a consumer that is disabled, or gone, is refused as soon as that is seen", () =>
      Effect.gen(function* () {
        const tokens = yield* Tokens.make
        yield* withToken("disabled", "its-token")
        yield* becomes(tokens, "its-token", "disabled/first")

        yield* changed("disabled", { disabled: true })
        yield* becomes(tokens, "its-token", "disabled disabled")
        yield* changed("disabled", { disabled: false })
        yield* becomes(tokens, "its-token", "disabled/first")
        yield* Client.use((client) => client.delete(Consumer, { name: "disabled" }))
        yield* becomes(tokens, "its-token", "unknown")
      }).pipe(Effect.scoped)
    )

    it.effect("D17: what becomes of a token's Secret counts as soon as it is seen", () =>
      Effect.gen(function* () {
        const tokens = yield* Tokens.make
        yield* withToken("secrets", "first-content")
        yield* becomes(tokens, "first-content", "secrets/first")
        const ref = Bench.released("token-of-secrets")
        const contains = (text: string) => {
          const data = { sha256: Buffer.from(text).toString("base64") }
          return Client.use((client) => client.patch(Builtin.Secret, ref, merge({ data })))
        }

        yield* contains(`${Bench.digest("second-content").toUpperCase()}\r\n`)
        yield* becomes(tokens, "second-content", "secrets/first")
        assert.strictEqual(yield* judged(tokens, "Bearer first-content"), "unknown")
        yield* contains("second-content")
        yield* becomes(tokens, "second-content", "unknown")
        yield* contains(Bench.digest("second-content"))
        yield* becomes(tokens, "second-content", "secrets/first")
        yield* Client.use((client) => client.delete(Builtin.Secret, ref))
        yield* becomes(tokens, "second-content", "unknown")
      }).pipe(Effect.scoped)
    )

    it.effect("D17: a token that two consumers have is nobody's", () =>
      Effect.gen(function* () {
        const tokens = yield* Tokens.make
        yield* withToken("twin-a", "shared")
        yield* becomes(tokens, "shared", "twin-a/first")

        yield* withToken("twin-b", "shared")

        yield* becomes(tokens, "shared", "unknown")
      }).pipe(Effect.scoped)
    )

    it.effect("when a token was used is written once a minute, beside what others write", () =>
      Effect.gen(function* () {
        // In the middle of a minute.
        yield* TestClock.adjust(90_000 - ((yield* Clock.currentTimeMillis) % 60_000))
        const minute = (count: number) => new Date(count * 60_000).toISOString().replace(".000Z", "Z")
        const now = Math.floor((yield* Clock.currentTimeMillis) / 60_000)
        const tokens = yield* Tokens.make
        const uses = yield* TokenUses.make
        yield* withToken("uses", "used")
        yield* becomes(tokens, "used", "uses/first")
        const owner = yield* tokens.ownerOf("Bearer used")
        const read = Client.use((client) => client.get(Consumer, { name: "uses" }))
        const others = { used: 7, tokens: [{ name: "gone", lastUsedAt: "2020-01-01T00:00:00Z" }] }
        yield* Client.use((client) =>
          client.patch(Consumer, { name: "uses" }, merge({ status: others }), { subresource: "status" })
        )

        yield* uses.note(owner)
        const first = yield* Effect.repeat(read, { until: ({ status }) => status?.tokens?.[0]?.name === "first" })
        yield* TestClock.adjust(29_999)
        yield* uses.note(owner)
        yield* TestClock.adjust(1)
        yield* uses.note(owner)
        const second = yield* Effect.repeat(read, {
          until: ({ status }) => status?.tokens?.[0]?.lastUsedAt !== first.status?.tokens?.[0]?.lastUsedAt
        })

        assert.strictEqual(first.status?.used, 7)
        assert.deepStrictEqual(first.status?.tokens, [{ name: "first", lastUsedAt: minute(now) }])
        assert.deepStrictEqual(second.status?.tokens, [{ name: "first", lastUsedAt: minute(now + 1) }])
      }).pipe(Effect.scoped)
    )
  })
})
