/** Shapes that were tried, and why each was left. The types are the test. */
import { assert, expectTypeOf, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import type { Provisioner } from "../src/Provisioner.ts"

const types = (
  a: Provisioner<{ a: 1 }, "a">,
  b: Provisioner<{ b: 1 }, "b">,
  mixed: ReadonlyArray<Provisioner<{ a: 1 }> | Provisioner<{ b: 1 }>>
) => {
  const one = <R>(_children: ReadonlyArray<Provisioner<R>>): Array<R> => []
  // @ts-expect-error one R for all: inference picks a candidate, it does not make a union
  one([a, b])

  const mapped = <Rs extends ReadonlyArray<unknown>, Ns extends string>(_children: {
    readonly [K in keyof Rs]: Provisioner<Rs[K], Ns>
  }): [Array<Rs[number]>, Array<Ns>] => [[], []]
  // The needs are inferred, the names inside a reverse-mapped tuple are not.
  expectTypeOf(mapped([a, b])).toEqualTypeOf<[Array<{ a: 1 } | { b: 1 }>, Array<string>]>()

  const both = <const Rs extends ReadonlyArray<unknown>, const Ns extends string>(
    _children: { readonly [K in keyof Rs]: Provisioner<Rs[K]> } & ReadonlyArray<{ readonly name: Ns }>
  ): [Array<Rs[number]>, Array<Ns>] => [[], []]
  expectTypeOf(both([a, b])).toEqualTypeOf<[Array<{ a: 1 } | { b: 1 }>, Array<"a" | "b">]>()
  // @ts-expect-error an intersection infers both; `const` on the needs then refuses a spread, so leave it off
  both([...mixed, a])
}

it.effect("failures side by side in one Cause get lost on the way", () =>
  Effect.gen(function* () {
    void types
    const two = Effect.suspend(() =>
      Effect.failCause(Cause.combine(Cause.fail({ _tag: "Terminal" as const }), Cause.fail({ _tag: "Yield" as const })))
    )
    const tags = (exit: Exit.Exit<unknown, { readonly _tag: string }>) =>
      Exit.isSuccess(exit)
        ? ["success"]
        : exit.cause.reasons.map((reason) => (Cause.isFailReason(reason) ? reason.error._tag : reason._tag))

    assert.deepStrictEqual(tags(yield* Effect.exit(two)), ["Terminal", "Yield"])
    assert.deepStrictEqual(tags(yield* Effect.exit(Effect.mapError(two, (e) => e))), ["Terminal", "Yield"])
    assert.deepStrictEqual(tags(yield* Effect.exit(Effect.catchTag(two, "Terminal", () => Effect.void))), ["success"])
    assert.deepStrictEqual(tags(yield* Effect.exit(Effect.catchTag(two, "Yield", () => Effect.void))), [
      "Terminal",
      "Yield"
    ])
    const defect = Effect.suspend(() =>
      Effect.failCause(Cause.combine(Cause.fail({ _tag: "Yield" as const }), Cause.die("x")))
    )
    assert.deepStrictEqual(tags(yield* Effect.exit(Effect.catch(defect, () => Effect.void))), ["Die", "Die"])
  })
)
