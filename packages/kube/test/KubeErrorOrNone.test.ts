import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as KubeError from "../src/KubeError.ts"

const request = { verb: "get", resource: "configmaps", namespace: "shop", name: "settings" }
const missing = new KubeError.NotFound({ ...request, status: 404, reason: "NotFound", detail: "" })

describe("KubeError.orNone", () => {
  it.effect("K3: what is not there is none, what is there is some, and whatever else fails goes on failing", () =>
    Effect.gen(function* () {
      const down: Effect.Effect<number, KubeError.KubeError> = Effect.fail(
        new KubeError.Unreachable({ ...request, cause: "unplugged" })
      )

      assert.deepStrictEqual(yield* KubeError.orNone(Effect.fail(missing)), Option.none())
      assert.deepStrictEqual(yield* KubeError.orNone(Effect.succeed(1)), Option.some(1))
      assert.strictEqual((yield* Effect.flip(KubeError.orNone(down)))._tag, "Unreachable")
    })
  )
})
