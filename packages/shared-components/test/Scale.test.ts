import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Environment } from "../src/Environment.ts"
import { started, story } from "./support/Berth.ts"

describe("Many environments", () => {
  story("S31: created at once, each costs as many requests as one of a few", function* () {
    const { environment, operator, ready, template } = yield* started
    yield* template()
    yield* environment("first")
    yield* ready(Environment, "first")
    const together = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
      yield* operator.requests
      yield* Effect.forEach(names, (name) => environment(name), { concurrency: "unbounded", discard: true })
      yield* Effect.forEach(names, (name) => ready(Environment, name), { concurrency: "unbounded", discard: true })
      return (yield* operator.requests) / names.length
    })
    const named = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

    const few = yield* together(named("few", 3))
    const many = yield* together(named("many", 12))

    assert.isAtMost(many, few * 1.1, `${few} requests each of 3, ${many} each of 12`)
  })
})
