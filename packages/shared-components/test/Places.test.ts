import * as Builtin from "@berth/kube/Builtin"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Environment } from "../src/Environment.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Names from "../src/Names.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { Slice } from "../src/Slice.ts"
import { management, started, story } from "./support/Berth.ts"

describe("Places", () => {
  const alpha = { name: "one", sharedComponentRef: { name: "alpha" } }
  const beta = { name: "two", sharedComponentRef: { name: "beta" } }

  story("S2: two environments that want the same two shared components never wait for each other", function* () {
    const { environment, ready, remove, sharedComponent, template } = yield* started
    yield* sharedComponent("alpha", { maxConsumers: 1 })
    yield* sharedComponent("beta", { maxConsumers: 1 })
    yield* template("shop", [alpha, beta])
    // In the other order: what counts is the name of the shared component.
    yield* template("other", [
      { ...beta, name: "first" },
      { ...alpha, name: "second" }
    ])

    yield* environment("a")
    yield* environment("b", { templateRef: { name: "other" } })
    const winner = yield* Effect.raceFirst(
      Effect.as(ready(Environment, "a"), "a"),
      Effect.as(ready(Environment, "b"), "b")
    )
    yield* remove(Environment, winner)

    yield* ready(Environment, winner === "a" ? "b" : "a")
  })

  story("S2: who waits at one shared component takes no place at the next", function* () {
    const { environment, ready, remove, says, sharedComponent, slices, template } = yield* started
    yield* sharedComponent("alpha", { maxConsumers: 1 })
    yield* sharedComponent("beta", { maxConsumers: 1 })
    yield* template("alpha", [alpha])
    yield* template("beta", [beta])
    yield* template("both", [beta, alpha])
    yield* environment("a", { templateRef: { name: "alpha" } })
    yield* ready(Environment, "a")

    yield* environment("both", { templateRef: { name: "both" } })
    yield* says(Environment, "both", "waiting_for_place")
    yield* slices("both", 1)
    yield* environment("b", { templateRef: { name: "beta" } })
    yield* ready(Environment, "b")
    yield* remove(Environment, "a")
    yield* slices("both", 2)
    yield* says(Environment, "both", "waiting_for_place")
    yield* remove(Environment, "b")
    yield* ready(Environment, "both")
  })

  story("S2: who waits is admitted in order of arrival, and sees its position", function* () {
    const { environment, ready, remove, sharedComponent, template, until } = yield* started
    yield* sharedComponent("alpha", { maxConsumers: 1 })
    yield* template("shop", [alpha])
    const inLine = (name: string, position: number) =>
      until(Environment, { name, namespace: management }, (found) =>
        found?.status?.components?.[0]?.position === position ? found : undefined
      )
    yield* environment("a")
    yield* ready(Environment, "a")
    yield* environment("c")
    yield* inLine("c", 1)
    yield* environment("b")
    const { status } = yield* inLine("b", 2)
    assert.strictEqual(status?.components?.[0]?.phase, "Waiting")
    assert.strictEqual(status?.phase, "Pending")

    yield* remove(Environment, "a")
    yield* ready(Environment, "c")
    yield* inLine("b", 1)
    yield* remove(Environment, "c")
    yield* ready(Environment, "b")
  })

  story("S2: who is first is admitted as soon as a place is given back, however that came about", function* () {
    const { environment, exists, read, ready, remove, says, sharedComponent, template } = yield* started
    yield* sharedComponent("alpha", { maxConsumers: 1 })
    yield* ready(SharedComponent, "alpha")
    const { metadata } = yield* read(SharedComponent, "alpha")
    const annotations = { [Ledger.ownerAnnotation]: metadata.uid ?? "" }
    const ledger = { name: Names.ledger("alpha"), namespace: management, annotations }
    yield* exists(Builtin.ConfigMap, { metadata: ledger, data: { members: JSON.stringify(["nobody"]) } })
    yield* template("shop", [alpha])
    yield* environment("a")
    yield* says(Environment, "a", "waiting_for_place")

    yield* remove(Builtin.ConfigMap, ledger.name)

    yield* ready(Environment, "a")
  })

  story("S2: who is paused while it waits is passed over, says so, and goes on when it is not", function* () {
    const { edit, environment, ready, remove, says, sharedComponent, slices, template } = yield* started
    yield* sharedComponent("alpha", { maxConsumers: 1 })
    yield* template("shop", [alpha])
    yield* environment("a")
    yield* ready(Environment, "a")
    yield* environment("b")
    const [first] = yield* slices("b")
    yield* says(Environment, "b", "waiting_for_place")
    yield* environment("c")
    const [second] = yield* slices("c")
    yield* says(Slice, second?.metadata.name ?? "", "waiting_in_line")
    const pause = (value: string | null) =>
      edit(Slice, first?.metadata.name ?? "", { metadata: { annotations: { "berth.dev/paused": value } } })

    yield* pause("true")
    yield* says(Slice, second?.metadata.name ?? "", "at_capacity")
    yield* says(Environment, "b", "slice_paused")
    yield* pause(null)
    yield* says(Slice, second?.metadata.name ?? "", "waiting_in_line")
    yield* pause("true")
    yield* remove(Environment, "a")
    yield* ready(Environment, "c")
    yield* pause(null)
    yield* says(Environment, "b", "waiting_for_place")
  })

  story("S2: who is deleted or suspended while it waits gives up its turn, and who has a place keeps it", function* () {
    const { edit, environment, gone, ready, remove, says, sharedComponent, slices, template } = yield* started
    yield* sharedComponent("alpha", { maxConsumers: 1 })
    yield* template("shop", [alpha])
    yield* environment("a")
    yield* ready(Environment, "a")
    for (const name of ["b", "c", "d"]) {
      yield* environment(name)
      yield* slices(name)
    }

    yield* edit(Environment, "a", { spec: { suspend: true } })
    yield* edit(Environment, "b", { spec: { suspend: true } })
    yield* says(Environment, "b", "suspended")
    yield* slices("b", 0)
    yield* remove(Environment, "c")
    yield* gone(Environment, "c")
    yield* ready(Environment, "a")
    yield* remove(Environment, "a")
    yield* ready(Environment, "d")
    yield* edit(Environment, "b", { spec: { suspend: false } })
    yield* says(Environment, "b", "waiting_for_place")
    yield* remove(Environment, "d")
    yield* ready(Environment, "b")
  })
})
