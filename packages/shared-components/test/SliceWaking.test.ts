import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Operator from "@berth/kube/Operator"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import * as Controllers from "../src/Controllers.ts"
import { phaseOf } from "../src/Records.ts"
import { Settings } from "../src/Settings.ts"
import { Slice } from "../src/Slice.ts"
import * as Slices from "../src/Slices.ts"
import * as Bench from "./support/Bench.ts"
import * as Faults from "./support/Faults.ts"
import * as Watching from "./support/Watching.ts"

describe("The line of a shared component", () => {
  it.live(
    "S2, S4: a place that is given up wakes the front of the line, and nobody behind it",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const names: Array<string> = []
        for (let index = 0; index < 26; index++) {
          yield* bench.environment(`shop-${index}`)
          names.push((yield* bench.slice(`shop-${index}`, "postgres", { desired: "Reserved" })).metadata.name)
        }
        const [first = "", second = "", last = ""] = [names[0], names[1], names[20]]
        const faults = Faults.make(bench.client)
        const caches = Caches.layer.pipe(Layer.provideMerge(Layer.succeed(Client, faults.client)))
        const services = Controllers.layer.pipe(
          Layer.provideMerge(Layer.succeed(Settings, bench.settings)),
          Layer.provideMerge(caches),
          Layer.fresh
        )
        const context = yield* Layer.build(services)
        const watching = yield* Effect.provideContext(Watching.make, context)
        const program = Effect.flatMap(Slices.make, (slices) => Operator.run([slices], { grace: 0 }))
        const running = yield* Effect.forkChild(Effect.provideContext(program, context))
        const position = (name: string, wanted: number) =>
          watching.until(Slice, { name, namespace: Bench.management }, (slice) =>
            slice?.status?.position === wanted ? true : undefined
          )
        const isAt = (name: string, phase: string) =>
          watching.until(Slice, { name, namespace: Bench.management }, (slice) =>
            slice !== undefined && phaseOf(slice) === phase ? true : undefined
          )
        yield* isAt(first, "Reserved")
        yield* position(last, 20)
        yield* Effect.forEach(names.slice(21), (name) => position(name, 21))
        const before = faults.reads.length

        yield* bench.release(first)
        yield* isAt(second, "Reserved")
        yield* position(last, 19)
        yield* Fiber.interrupt(running)

        const woken = new Set(faults.reads.slice(before).filter((read) => read.startsWith("get slices")))
        assert.includeMembers([...woken], [`get slices ${second}`, `get slices ${last}`])
        for (const name of names.slice(22)) assert.isFalse(woken.has(`get slices ${name}`), name)
        assert.isTrue(Option.isSome(yield* bench.read(last)))
      }).pipe(Bench.test),
    30_000
  )
})
