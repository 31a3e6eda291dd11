/** Shapes that were tried, and why each was left. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer } from "effect"
import type { Provisioner } from "../src/Provisioner.ts"

declare const a: Provisioner<{ readonly a: 1 }, "a">
declare const b: Provisioner<{ readonly b: 1 }, "b">
declare const mixed: ReadonlyArray<Provisioner<{ readonly a: 1 }> | Provisioner<{ readonly b: 1 }>>

describe("dead ends", () => {
  it("one R for all children: inference picks a candidate, it makes no union", () => {
    const one = <R>(_children: ReadonlyArray<Provisioner<R>>): Array<R> => []
    // @ts-expect-error b needs something else than a
    const refused = () => one([a, b])

    assert.isFunction(refused)
  })

  it("a mapped tuple infers the needs of its members, but not their names", () => {
    const mapped = <Rs extends ReadonlyArray<unknown>, Ns extends string>(_children: {
      readonly [K in keyof Rs]: Provisioner<Rs[K], Ns>
    }): [Array<Rs[number]>, Array<Ns>] => [[], []]
    const inferred = () => mapped([a, b])

    expectTypeOf(inferred).returns.toEqualTypeOf<[Array<{ readonly a: 1 } | { readonly b: 1 }>, Array<string>]>()
  })

  it("an intersection infers both, but const on the needs refuses a spread", () => {
    const both = <const Rs extends ReadonlyArray<unknown>, const Ns extends string>(
      _children: { readonly [K in keyof Rs]: Provisioner<Rs[K]> } & ReadonlyArray<{ readonly name: Ns }>
    ): [Array<Rs[number]>, Array<Ns>] => [[], []]
    const inferred = () => both([a, b])
    // @ts-expect-error the spread is no tuple
    const refused = () => both([...mixed, a])

    expectTypeOf(inferred).returns.toEqualTypeOf<[Array<{ readonly a: 1 } | { readonly b: 1 }>, Array<"a" | "b">]>()
    assert.isFunction(refused)
  })

  it.effect("failures side by side in one Cause get lost on the way: hence the join", () =>
    Effect.gen(function* () {
      const failing = (_tag: string) => Cause.fail({ _tag })
      const two = Effect.suspend(() => Effect.failCause(Cause.combine(failing("Terminal"), failing("Yield"))))
      const withDefect = Effect.suspend(() => Effect.failCause(Cause.combine(failing("Yield"), Cause.die("x"))))
      const tags = (exit: Exit.Exit<unknown, { readonly _tag: string }>) =>
        Exit.isSuccess(exit)
          ? ["success"]
          : exit.cause.reasons.map((reason) => (Cause.isFailReason(reason) ? reason.error._tag : reason._tag))

      assert.deepStrictEqual(tags(yield* Effect.exit(two)), ["Terminal", "Yield"])
      assert.deepStrictEqual(tags(yield* Effect.exit(Effect.catchTag(two, "Terminal", () => Effect.void))), ["success"])
      assert.deepStrictEqual(tags(yield* Effect.exit(Effect.catchTag(two, "Yield", () => Effect.void))), [
        "Terminal",
        "Yield"
      ])
      assert.deepStrictEqual(tags(yield* Effect.exit(Effect.catch(withDefect, () => Effect.void))), ["Die", "Die"])
    })
  )

  it.effect("a layer that is built further out is not built again, unless it is provided locally", () =>
    Effect.gen(function* () {
      class Here extends Context.Service<Here, string>()("test/Here") {}
      const further = Layer.effect(
        Here,
        Effect.map(Here, (here) => `${here}>r`)
      )
      const nested = (local: boolean) =>
        Here.pipe(
          Effect.provide(further, { local }),
          Effect.provide(further, { local }),
          Effect.provideService(Here, "a")
        )

      assert.deepStrictEqual([yield* nested(true), yield* nested(false)], ["a>r>r", "a>r"])
    })
  )
})
