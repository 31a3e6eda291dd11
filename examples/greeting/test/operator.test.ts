import { readFileSync } from "node:fs"
import { Builtin, Client, Conditions, Kind } from "@berth/kube"
import { Cluster } from "@berth/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Greeting, operator } from "../src/operator.ts"

describe("The example of the README", () => {
  it("stands there as it is", () => {
    const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8")
    const source = readFileSync(new URL("../src/operator.ts", import.meta.url), "utf8")

    assert.include(readme, `\`\`\`ts\n${source}\`\`\``)
  })

  it.live("makes what the object says, and takes it away again", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      yield* client.apply(Builtin.CustomResourceDefinition, Kind.crd(Greeting))
      yield* Effect.forkScoped(operator)
      const ref = { name: "hello", namespace: "default" }

      yield* client.create(Greeting, { metadata: ref, spec: { text: "good morning" } })
      yield* until(client.get(Greeting, ref), ({ status }) => Conditions.isTrue(status?.conditions, "Ready"))
      const made = yield* client.get(Builtin.ConfigMap, { name: "greeting-hello", namespace: "default" })
      assert.deepStrictEqual(made.data, { text: "good morning" })

      yield* client.delete(Greeting, ref)
      yield* until(
        Effect.isFailure(client.get(Builtin.ConfigMap, { name: "greeting-hello", namespace: "default" })),
        (gone) => gone
      )
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )
})

const until = <A, E, R>(look: Effect.Effect<A, E, R>, done: (found: A) => boolean) =>
  Effect.repeat(look, { until: done, schedule: Schedule.spaced("10 millis") })
