import type { Builtin } from "@berth/kube"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { isUp } from "../src/rollout.ts"

type Status = NonNullable<Builtin.Deployment["status"]>

const deployment = (status: Status | undefined): Builtin.Deployment => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "site", generation: 2 },
  spec: { replicas: 2, selector: {}, template: {} },
  ...(status === undefined ? {} : { status })
})
const up = { observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2 }
const givenUp = [{ type: "Progressing", status: "False", message: "quota of secret-project is used up" }]

const rows: ReadonlyArray<{ readonly is: string; readonly status: Status | undefined; readonly said: string }> = [
  { is: "one that nobody has seen", status: undefined, said: "rolling_out: 0 of 2 servers are up in east." },
  {
    is: "the version before",
    status: { ...up, observedGeneration: 1 },
    said: "rolling_out: 0 of 2 servers are up in east."
  },
  {
    is: "one that is half there",
    status: { ...up, updatedReplicas: 1 },
    said: "rolling_out: 1 of 2 servers are up in east."
  },
  { is: "one that is there", status: up, said: "up" },
  {
    is: "one that was given up",
    status: { ...up, availableReplicas: 0, conditions: givenUp },
    said: "rollout_stuck: The servers in east do not come up; trying again."
  },
  {
    is: "one that was given up before the change",
    status: { ...up, observedGeneration: 1, conditions: givenUp },
    said: "rolling_out: 0 of 2 servers are up in east."
  },
  { is: "one that is there in spite of it", status: { ...up, conditions: givenUp }, said: "up" }
]

describe("A rollout", () => {
  it.effect.each(rows)("P3: of $is: $said", ({ said, status }) =>
    Effect.gen(function* () {
      const result = yield* Effect.result(isUp("east")(deployment(status)))

      const told = Result.match(result, {
        onFailure: ({ message, reason }) => `${reason}: ${message}`,
        onSuccess: () => "up"
      })
      assert.strictEqual(told, said)
    })
  )
})
