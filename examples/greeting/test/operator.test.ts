import { readFileSync } from "node:fs"
import { Builtin, Client, Conditions, Kind } from "@berth/kube"
import { Await, Cluster, Clusters } from "@berth/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Greeting, operator } from "../src/operator.ts"

const greeting = { name: "hello", namespace: "default" }
const made = { name: "greeting-hello", namespace: "default" }

describe("The example of the README", () => {
  it("stands there as it is", () => {
    const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8")
    const source = readFileSync(new URL("../src/operator.ts", import.meta.url), "utf8")

    assert.include(readme, `\`\`\`ts\n${source}\`\`\``)
  })

  it.live("makes what the object says, puts it right, and takes it away again", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      yield* Clusters.definition(Kind.crd(Greeting))
      yield* Effect.forkScoped(operator)

      yield* client.create(Greeting, { metadata: greeting, spec: { text: "good morning" } })
      yield* Await.until(Greeting, greeting, ({ status }) => Conditions.isTrue(status?.conditions, "Ready"))
      assert.deepStrictEqual((yield* client.get(Builtin.ConfigMap, made)).data, { text: "good morning" })
      yield* client.patch(Builtin.ConfigMap, made, { type: "merge", patch: { data: { text: "good night" } } })
      yield* Await.until(Builtin.ConfigMap, made, ({ data }) => data?.["text"] === "good morning")

      yield* client.delete(Greeting, greeting)
      yield* Await.gone(Builtin.ConfigMap, made)
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )
})
