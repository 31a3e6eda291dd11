import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import * as Identifier from "../src/Identifier.ts"
import * as Kind from "../src/Kind.ts"
import * as Manifest from "../src/Manifest.ts"

const Greeting = Kind.make({
  group: "example.com",
  version: "v1",
  kind: "Greeting",
  scope: "Namespaced",
  spec: Schema.Struct({ name: Kind.Text(1, 63), loud: Schema.Boolean.pipe(Kind.withDefault(false)) }),
  status: Schema.Struct({})
})

const manifest = { apiVersion: "example.com/v1", kind: "Greeting", metadata: { name: "hello" }, spec: { name: "you" } }

describe("Manifest", () => {
  it.effect("is read as the API server would store it", () =>
    Effect.gen(function* () {
      const { metadata, spec } = yield* Manifest.decode(Greeting, manifest)

      assert.deepStrictEqual(spec, { name: "you", loud: false })
      const { labels, name, uid } = metadata
      assert.deepEqual(
        { labels, name, uid },
        { labels: {}, name: Identifier.Identifier.make("hello"), uid: "not-stored" }
      )
    })
  )

  it.effect("is refused where it is of another kind, or nothing of the sort", () =>
    Effect.gen(function* () {
      const documents = [
        { ...manifest, kind: "Farewell" },
        { ...manifest, spec: {} },
        { ...manifest, metadata: 1 },
        [],
        3,
        null
      ]

      const exits = yield* Effect.forEach(documents, (document) => Effect.exit(Manifest.decode(Greeting, document)))

      assert.deepStrictEqual(
        exits.map(Exit.isFailure),
        documents.map(() => true)
      )
    })
  )
})
