import { assert, describe, expectTypeOf, it, vi } from "@effect/vitest"
import { Duration, Effect, Equal, Option, Schema } from "effect"
import * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"

const Reasons = Disposition.vocabulary("postgres", {
  waiting_for_rollout: Disposition.yield("Waiting for {name} to become ready: {ready} of {wanted}."),
  unreachable: Disposition.transient("Server {name} did not answer within {limit}."),
  insufficient_capacity: Disposition.terminal("No shard has room for another database."),
  credentials_rejected: Disposition.userActionRequired("The server rejected the credentials in Secret {secret}."),
  held_by: Disposition.yield("Held by {names}.")
})
const name = Identifier.of("shard-a")
const raw = new Error("password authentication failed for user admin")
const names = (count: number) => Array.from({ length: count }, (_, index) => Identifier.Identifier.make(`n${index}`))

describe("the types of failures", () => {
  it("P3: parameters come from the template, and nothing else does", () => {
    expectTypeOf<Disposition.Parameters<"{a} and {b} and {a}">>().toEqualTypeOf<"a" | "b">()
    expectTypeOf<Disposition.Parameters<"none">>().toEqualTypeOf<never>()
    expectTypeOf(Reasons.insufficient_capacity).parameters.toEqualTypeOf<[details?: Disposition.Details<"Terminal">]>()
    expectTypeOf(Reasons.credentials_rejected({ secret: name })).toEqualTypeOf<
      Disposition.UserActionRequired<"postgres", "credentials_rejected">
    >()
    expectTypeOf(Reasons.unreachable({ name, limit: Duration.seconds(5) })).toExtend<Disposition.ProvisionError>()
    const wrong = () => [
      // @ts-expect-error a parameter is missing
      Reasons.waiting_for_rollout({ name, ready: 1 }),
      // @ts-expect-error there is no such parameter
      Reasons.credentials_rejected({ secret: name, user: name }),
      // @ts-expect-error parameters are required
      Reasons.credentials_rejected(),
      // @ts-expect-error free text
      Reasons.credentials_rejected({ secret: raw.message }),
      // @ts-expect-error not even a literal: its shape is unchecked
      Reasons.credentials_rejected({ secret: "shard-a" }),
      // @ts-expect-error text that is not a literal
      Disposition.terminal(raw.message),
      // @ts-expect-error a pattern is not a literal either
      Disposition.terminal(`Failed: ${raw.message}` as const),
      // @ts-expect-error braces must pair up
      Disposition.terminal("Waiting for {name"),
      // @ts-expect-error a parameter is one word
      Disposition.terminal("Waiting for {the name}")
    ]
    assert.isFunction(wrong)
  })

  it("P2: the union is closed: what is raw, or only looks alike, does not fit", () => {
    const lookAlike = { _tag: "Terminal", vocabulary: "a", reason: "b", message: raw.message } as const
    const rest = { why: undefined, after: undefined, beside: [] }
    const wrong = () => {
      // @ts-expect-error a look-alike is no failure
      const forged: Disposition.ProvisionError = { name: "Terminal", ...lookAlike, ...rest }
      // @ts-expect-error a raw error
      const bad: Effect.Effect<void, Disposition.ProvisionError> = Effect.fail(raw)
      // @ts-expect-error unknown, as from tryPromise without a mapping
      const worse: Effect.Effect<void, Disposition.ProvisionError> = Effect.fail<unknown>(raw)
      // @ts-expect-error what parks has no delay
      const late = Reasons.insufficient_capacity({ after: "5 seconds" })
      return [forged, bad, worse, late]
    }
    assert.isFunction(wrong)
  })

  it("P2: tags and reasons narrow", () => {
    const pass = Effect.gen(function* () {
      if (yield* Effect.succeed(false)) return yield* Reasons.insufficient_capacity({ why: "all 3 shards full" })
      return yield* Reasons.waiting_for_rollout({ name, ready: 1, wanted: 3 }, { after: "5 seconds" })
    })
    type Waiting = Disposition.Yield<"postgres", "waiting_for_rollout">
    type Full = Disposition.Terminal<"postgres", "insufficient_capacity">
    expectTypeOf(pass).toEqualTypeOf<Effect.Effect<never, Full | Waiting>>()
    expectTypeOf(Effect.catchTag(pass, "Terminal", () => Effect.void)).toEqualTypeOf<Effect.Effect<void, Waiting>>()
    expectTypeOf(Effect.catchIf(pass, Reasons.insufficient_capacity.is, () => Effect.void)).toEqualTypeOf<
      Effect.Effect<void, Waiting>
    >()
    const wide: Effect.Effect<never, Disposition.ProvisionError> = pass
    expectTypeOf(Effect.catchTag(wide, ["Yield", "Transient"], () => Effect.void)).toEqualTypeOf<
      Effect.Effect<void, Disposition.Terminal | Disposition.UserActionRequired>
    >()
  })
})

describe("a failure", () => {
  it.effect("P3: shows the declared text; why and cause stay inside", () =>
    Effect.gen(function* () {
      const limit = Duration.seconds(90)
      const error = yield* Effect.flip(
        Effect.gen(function* () {
          return yield* Reasons.unreachable(
            { name, limit },
            { why: "ECONNREFUSED 10.0.0.7", cause: raw, after: "3 seconds" }
          )
        })
      )
      const message = "Server shard-a did not answer within 1m 30s."

      const stored = yield* Schema.encodeEffect(Disposition.Shown)(Disposition.show(error))

      assert.deepInclude(error, { _tag: "Transient", vocabulary: "postgres", reason: "unreachable", message })
      assert.deepInclude(error, { why: "ECONNREFUSED 10.0.0.7", cause: raw })
      assert.deepStrictEqual(stored, {
        disposition: "Transient",
        vocabulary: "postgres",
        reason: "unreachable",
        message
      })
    })
  )

  it.effect("P3: shows five names of many, and never more than its bound", () =>
    Effect.gen(function* () {
      const long = Disposition.vocabulary("long", { all: Disposition.yield("ä{a}{b}{c}{d}{e}{f}{g}{h}{i}ü") })
      const wide = Identifier.Identifier.make("x".repeat(253))
      const failure = long.all({ a: wide, b: wide, c: wide, d: wide, e: wide, f: wide, g: wide, h: wide, i: wide })

      assert.strictEqual(Reasons.held_by({ names: names(5) }).message, "Held by n0, n1, n2, n3, n4.")
      assert.strictEqual(Reasons.held_by({ names: names(8) }).message, "Held by n0, n1, n2, n3, n4 and 3 more.")
      assert.lengthOf(failure.message, 2048)
      assert.match(failure.message, /^äx+…$/u)
      yield* Schema.encodeEffect(Disposition.Shown)(Disposition.show(failure))
    })
  )

  it("compares by value, and by reason whatever its parameters", () => {
    const [one, two] = [Reasons.held_by({ names: names(1) }), Reasons.held_by({ names: names(2) })]

    assert.isTrue(Equal.equals(Reasons.insufficient_capacity(), Reasons.insufficient_capacity()))
    assert.isFalse(Equal.equals(one, two))
    assert.isTrue(Disposition.sameReason(Disposition.show(one), Disposition.show(two)))
    assert.isFalse(Disposition.sameReason(Disposition.show(one), Disposition.show(Reasons.insufficient_capacity())))
    assert.isTrue(Disposition.isProvisionError(one))
    assert.isFalse(Disposition.isProvisionError({ _tag: "Yield", vocabulary: "postgres", reason: "held_by" }))
  })

  it("P2: is one also where another copy of the package made it, as npm may install two", async () => {
    vi.resetModules()
    const copy = await import("../src/Disposition.ts")

    const failure = copy.vocabulary("copy", { waits: copy.yield("Waits.") }).waits()

    assert.notStrictEqual(copy.join, Disposition.join)
    assert.isTrue(Disposition.isProvisionError(failure))
  })

  it("P2: a Yield never counts as a failed pass, anything beside it does", () => {
    const [yields, fails] = [Reasons.held_by({ names: [] }), Reasons.unreachable({ name, limit: Duration.zero })]

    assert.isFalse(Disposition.countsAsFailure(Disposition.join([yields, yields])))
    assert.isTrue(Disposition.countsAsFailure(Disposition.join([yields, fails])))
  })
})

describe("failures together", () => {
  const [yields, wrong, user] = [
    Reasons.held_by({ names: [name] }),
    Reasons.insufficient_capacity(),
    Reasons.credentials_rejected({ secret: name })
  ]
  const reasons = (failure: Disposition.ProvisionError) => Disposition.leaves(failure).map((leaf) => leaf.reason)

  it("P8: the worst is the failure, and the others are beside it", () => {
    const joined = Disposition.join([yields, wrong, user])

    assert.deepStrictEqual(reasons(joined), ["credentials_rejected", "insufficient_capacity", "held_by"])
    assert.strictEqual(joined._tag, "UserActionRequired")
    assert.strictEqual(joined.stack, user.stack)
  })

  it("P8: parks only when every leaf does", () => {
    assert.isTrue(Disposition.isTerminal(Disposition.join([wrong, user])))
    assert.isFalse(Disposition.isTerminal(Disposition.join([wrong, user, yields])))
  })

  it("forgiving some keeps the others", () => {
    const joined = Disposition.join([yields, wrong, user])

    const rest = Disposition.without(joined, Reasons.credentials_rejected.is)

    assert.deepStrictEqual(Option.map(rest, reasons), Option.some(["insufficient_capacity", "held_by"]))
    assert.isTrue(Option.isNone(Disposition.without(joined, () => true)))
  })
})

describe("a vocabulary", () => {
  it("P3: lists its reasons for documentation and metrics", () => {
    const rows = Disposition.describe(Reasons).map(({ disposition, parameters, reason, vocabulary }) =>
      [vocabulary, reason, disposition, ...parameters].join(" ")
    )

    assert.deepStrictEqual(rows, [
      "postgres waiting_for_rollout Yield name ready wanted",
      "postgres unreachable Transient name limit",
      "postgres insufficient_capacity Terminal",
      "postgres credentials_rejected UserActionRequired secret",
      "postgres held_by Yield names"
    ])
  })

  it.each(["Bad", "bad-name", "", "x".repeat(64), "bad_"])("refuses %j as a name", (reason) => {
    const declared = { [reason]: Disposition.terminal("No.") }

    assert.throws(() => Disposition.vocabulary("v", declared), "lower-case words")
  })
})
