import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Duration, Effect, Equal, Option, Schema } from "effect"
import * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"

export const Reasons = Disposition.vocabulary("postgres", {
  waiting_for_rollout: Disposition.yield("Waiting for {name} to become ready: {ready} of {wanted}."),
  unreachable: Disposition.transient("Server {name} did not answer within {limit}."),
  insufficient_capacity: Disposition.terminal("No shard has room for another database."),
  credentials_rejected: Disposition.userActionRequired("The server rejected the credentials in Secret {secret}."),
  held_by: Disposition.yield("Held by {names}.")
})
const name = Identifier.of("shard-a")
const raw = new Error("password authentication failed for user admin")

describe("types", () => {
  it("parameters come from the template, and nothing else does", () => {
    expectTypeOf<Disposition.Parameters<"{a} and {b} and {a}">>().toEqualTypeOf<"a" | "b">()
    expectTypeOf<Disposition.Parameters<"none">>().toEqualTypeOf<never>()
    expectTypeOf(Reasons.insufficient_capacity).parameters.toEqualTypeOf<[details?: Disposition.Details<"Terminal">]>()
    expectTypeOf(Reasons.credentials_rejected({ secret: name })).toEqualTypeOf<
      Disposition.UserActionRequired<"postgres", "credentials_rejected">
    >()
    expectTypeOf(Reasons.unreachable({ name, limit: Duration.seconds(5) })).toExtend<Disposition.ProvisionError>()
    const _never = () => {
      // @ts-expect-error a parameter is missing
      Reasons.waiting_for_rollout({ name, ready: 1 })
      // @ts-expect-error there is no such parameter
      Reasons.credentials_rejected({ secret: name, user: name })
      // @ts-expect-error parameters are required
      Reasons.credentials_rejected()
      // @ts-expect-error free text
      Reasons.credentials_rejected({ secret: raw.message })
      // @ts-expect-error not even a literal: its shape is unchecked
      Reasons.credentials_rejected({ secret: "shard-a" })
      // @ts-expect-error what parks has no delay
      Reasons.insufficient_capacity({ after: "5 seconds" })
      // @ts-expect-error text that is not a literal
      Disposition.terminal(raw.message)
      // @ts-expect-error a pattern is not a literal either
      Disposition.terminal(`Failed: ${raw.message}` as const)
      // @ts-expect-error braces must pair up
      Disposition.terminal("Waiting for {name")
      // @ts-expect-error a parameter is one word
      Disposition.terminal("Waiting for {the name}")
      // @ts-expect-error identifiers from variables need a check
      Identifier.of(raw.message)
      // @ts-expect-error a look-alike is no failure
      const forged: Disposition.ProvisionError = {
        ...new Error(),
        _tag: "Terminal",
        vocabulary: "a",
        reason: "b",
        message: raw.message,
        why: undefined,
        after: undefined,
        beside: []
      }
      return forged
    }
  })

  it("raw errors do not fit; catchTag narrows", () => {
    const pass = Effect.gen(function* () {
      if (yield* Effect.succeed(false)) return yield* Reasons.insufficient_capacity({ why: "all 3 shards full" })
      return yield* Reasons.waiting_for_rollout({ name, ready: 1, wanted: 3 }, { after: "5 seconds" })
    })
    expectTypeOf(pass).toEqualTypeOf<
      Effect.Effect<
        never,
        Disposition.Terminal<"postgres", "insufficient_capacity"> | Disposition.Yield<"postgres", "waiting_for_rollout">
      >
    >()
    expectTypeOf(Effect.catchTag(pass, "Terminal", () => Effect.void)).toEqualTypeOf<
      Effect.Effect<void, Disposition.Yield<"postgres", "waiting_for_rollout">>
    >()
    expectTypeOf(Effect.catchIf(pass, Reasons.insufficient_capacity.is, () => Effect.void)).toEqualTypeOf<
      Effect.Effect<void, Disposition.Yield<"postgres", "waiting_for_rollout">>
    >()
    const wide: Effect.Effect<never, Disposition.ProvisionError> = pass
    expectTypeOf(Effect.catchTag(wide, ["Yield", "Transient"], () => Effect.void)).toEqualTypeOf<
      Effect.Effect<void, Disposition.Terminal | Disposition.UserActionRequired>
    >()
    // @ts-expect-error a raw error
    const bad: Effect.Effect<void, Disposition.ProvisionError> = Effect.fail(raw)
    // @ts-expect-error unknown, as from tryPromise without a mapping
    const worse: Effect.Effect<void, Disposition.ProvisionError> = Effect.fail<unknown>(raw)
    ;(void bad, void worse)
  })
})

describe("run time", () => {
  it.effect("P3: shows the declared text; why and cause stay inside", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.gen(function* () {
          return yield* Reasons.unreachable(
            { name, limit: Duration.seconds(90) },
            { why: "ECONNREFUSED 10.0.0.7", cause: raw, after: "3 seconds" }
          )
        })
      )

      assert.deepInclude(error, {
        _tag: "Transient",
        vocabulary: "postgres",
        reason: "unreachable",
        message: "Server shard-a did not answer within 1m 30s.",
        why: "ECONNREFUSED 10.0.0.7",
        cause: raw
      })
      const stored = Schema.encodeSync(Disposition.Shown)(Disposition.show(error))
      assert.deepStrictEqual(stored, {
        disposition: "Transient",
        vocabulary: "postgres",
        reason: "unreachable",
        message: "Server shard-a did not answer within 1m 30s."
      })
      assert.isTrue(
        Disposition.sameReason(
          Schema.decodeUnknownSync(Disposition.Shown)(JSON.parse(JSON.stringify(stored))),
          Disposition.show(error)
        )
      )
    })
  )

  it("a joined failure keeps everything; without forgives only what it is told to", () => {
    const joined = Disposition.join([
      Reasons.held_by({ names: [name] }),
      Reasons.insufficient_capacity(),
      Reasons.credentials_rejected({ secret: name })
    ])
    assert.deepStrictEqual(
      Disposition.leaves(joined).map((leaf) => leaf.reason),
      ["credentials_rejected", "insufficient_capacity", "held_by"]
    )
    const rest = Option.getOrThrow(Disposition.without(joined, Reasons.credentials_rejected.is))
    assert.deepStrictEqual(
      Disposition.leaves(rest).map((leaf) => leaf.reason),
      ["insufficient_capacity", "held_by"]
    )
    assert.isTrue(Option.isNone(Disposition.without(joined, () => true)))
  })

  it("compares by value, names at most five, and lists every reason", () => {
    const six = ["a", "b", "c", "d", "e", "f"].map((each) => Option.getOrThrow(Identifier.fromString(each)))
    assert.isTrue(Equal.equals(Reasons.insufficient_capacity(), Reasons.insufficient_capacity()))
    assert.isFalse(Equal.equals(Reasons.held_by({ names: [name] }), Reasons.held_by({ names: six })))
    assert.strictEqual(Reasons.held_by({ names: six }).message, "Held by a, b, c, d, e and 1 more.")
    assert.isTrue(Option.isNone(Identifier.fromString('role "admin" does not exist')))
    assert.deepStrictEqual(
      Disposition.describe(Reasons).map((each) => [
        each.vocabulary,
        each.reason,
        each.disposition,
        each.parameters.join()
      ]),
      [
        ["postgres", "waiting_for_rollout", "Yield", "name,ready,wanted"],
        ["postgres", "unreachable", "Transient", "name,limit"],
        ["postgres", "insufficient_capacity", "Terminal", ""],
        ["postgres", "credentials_rejected", "UserActionRequired", "secret"],
        ["postgres", "held_by", "Yield", "names"]
      ]
    )
  })
})
