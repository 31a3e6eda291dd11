import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Environment } from "../src/Environment.ts"
import * as Berth from "./support/Berth.ts"

describe("Environments", () => {
  it.live("an environment gets its namespace, its slice and its variables", () =>
    Effect.gen(function* () {
      const { binding, env, environment, ready, template } = yield* Berth.started

      yield* template()
      yield* environment("a")
      const { status } = yield* ready(Environment, "a")

      const { PASSWORD, URL } = yield* binding("a")
      assert.match(URL ?? "", /^postgres:\/\/pg.test:5432\/[a-z2-7]{20}$/u)
      assert.lengthOf(PASSWORD ?? "", 32)
      assert.deepStrictEqual(yield* env("a"), { DATABASE_URL: URL })
      assert.deepInclude(status, { phase: "Ready", url: "https://a.example.test" })
      assert.deepStrictEqual(status?.components, [
        { name: "db", phase: "Ready" },
        { name: "web", phase: "Ready" }
      ])
    }).pipe(Effect.scoped, Berth.quiet)
  )
})
