import { Client } from "@berth/kube/Client"
import * as Builtin from "@berth/kube/Builtin"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, layer } from "@effect/vitest"
import { Clock, Duration, Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Names from "../src/Names.ts"
import * as Tombstones from "../src/Tombstones.ts"

const namespace = "default"
const owner = (name: string) => ({ name, uid: `uid-of-${name}` })
const isKnown = (name: string, id: string) => Effect.map(Tombstones.find(owner(name), id, namespace), Option.isSome)

describe("Tombstones", () => {
  layer(Cluster.embeddedWithClient())((it) => {
    it.effect("D15: a drop is remembered for 30 days to the millisecond, and forgotten by the next one after", () =>
      Effect.gen(function* () {
        yield* Tombstones.add(owner("a"), "one", namespace)
        yield* TestClock.adjust(Duration.subtract(Tombstones.lifetime, Duration.millis(1)))
        assert.isTrue(yield* isKnown("a", "one"))
        yield* TestClock.adjust("1 millis")
        assert.isFalse(yield* isKnown("a", "one"))
        yield* Tombstones.add(owner("a"), "two", namespace)

        const found = yield* Client.use((client) =>
          client.get(Builtin.ConfigMap, { name: Names.tombstones("a"), namespace })
        )
        assert.notInclude(found.data?.["tombstones"] ?? "", "one")
      })
    )

    it.effect("D15: of one consumer a thousand are remembered, the latest", () =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const old = Object.fromEntries(
          Array.from({ length: Tombstones.countMax }, (_, index) => [`${index}`, now - index])
        )
        const metadata = {
          name: Names.tombstones("b"),
          namespace,
          annotations: { "db.berth.dev/tombstones-of-uid": "uid-of-b" }
        }
        const data = { tombstones: JSON.stringify(old) }
        yield* Client.use((client) => client.create(Builtin.ConfigMap, { metadata, data }))
        yield* TestClock.adjust("10 seconds")

        yield* Tombstones.add(owner("b"), "latest", namespace)

        const known = yield* Effect.forEach(["latest", "0", "998", "999"], (id) => isKnown("b", id))
        assert.deepStrictEqual(known, [true, true, true, false])
      })
    )

    it.effect("D15: what was remembered of an earlier consumer of the name is nobody's", () =>
      Effect.gen(function* () {
        yield* Tombstones.add(owner("c"), "one", namespace)
        const later = { name: "c", uid: "another" }

        assert.isTrue(Option.isNone(yield* Tombstones.find(later, "one", namespace)))
        yield* Tombstones.remove(later, namespace)
        assert.isTrue(yield* isKnown("c", "one"))
        yield* Tombstones.remove(owner("c"), namespace)
        assert.isFalse(yield* isKnown("c", "one"))
      })
    )

    it.effect.each(["constructor", "toString"])("D15: an id that every object has, %s, was not dropped", (id) =>
      Effect.gen(function* () {
        yield* Tombstones.add(owner("d"), "one", namespace)

        assert.isFalse(yield* isKnown("d", id))
      })
    )
  })
})
