/** How a cache keeps what is not in use. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Archive from "../src/internal/archive.ts"
import * as Recent from "../src/internal/recent.ts"
import * as Slabs from "../src/internal/slabs.ts"

const Step = Schema.Union([
  Schema.Struct({
    _tag: Schema.tag("Put"),
    key: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })),
    // From nothing to more than a block.
    size: Schema.Literals([0, 1, 300, 2_000, 9_000, 20_000]),
    letter: Schema.Literals(["a", "b", "é", "日", "🎉"])
  }),
  Schema.Struct({ _tag: Schema.tag("Delete"), key: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })) })
])

const noises = (() => {
  let state = 1
  return Array.from({ length: 400_000 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return String.fromCharCode(33 + ((state >>> 16) % 90))
  }).join("")
})()

/** Text that does not pack well, the same for the same seed. */
const noise = (seed: number, size: number): string => {
  const start = (seed * 7_919) % (noises.length - size)
  return noises.slice(start, start + size)
}

const object = (index: number, text: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: `settings-${index}`,
      namespace: "shop",
      uid: `00000000-0000-0000-0000-${String(index).padStart(12, "0")}`
    },
    data: { text }
  })

describe("Archive", () => {
  it.effect.prop(
    "K12: whatever is written, overwritten and deleted, the archive holds what a map would",
    { steps: Schema.Array(Step) },
    ({ steps }) =>
      Effect.sync(() => {
        const archive = Archive.make()
        const model = new Map<string, string>()
        for (const step of steps) {
          const key = `key-${step.key}`
          if (step._tag === "Put") {
            const text = `${step.letter.repeat(step.size)}${noise(step.key, step.size / 4)}`
            archive.put(key, text)
            model.set(key, text)
          } else {
            archive.delete(key)
            model.delete(key)
          }
        }

        assert.strictEqual(archive.size(), model.size)
        assert.deepStrictEqual(new Map(archive.getAll([...model.keys(), "none"])), model)
        for (const [key, text] of model) assert.strictEqual(archive.get(key), text)
      }),
    { arbitrary: { runs: 60, size: 120 } }
  )

  it("K12: objects that are alike take less than a fifth of their text, and text that is noise little more than itself", () => {
    const alike = Archive.make()
    const unlike = Archive.make()
    let characters = 0

    for (let index = 0; index < 1_000; index++) {
      const text = object(index, "the same settings as everywhere else. ".repeat(20))
      characters += text.length
      alike.put(String(index), text)
      unlike.put(String(index), noise(index, text.length))
    }

    assert.isBelow(alike.bytes(), characters / 5)
    assert.isBelow(unlike.bytes(), characters * 1.02)
  })

  it("K12: what was overwritten or deleted makes room, up to one slab", () => {
    const archive = Archive.make()
    const write = (round: number) => {
      for (let index = 0; index < 1_500; index++) archive.put(String(index), noise(index + round * 1_500, 2_000))
    }
    write(0)
    const once = archive.bytes()

    for (let round = 1; round <= 4; round++) write(round)
    const often = archive.bytes()
    for (let index = 1; index < 1_500; index++) archive.delete(String(index))

    assert.isBelow(often, 2.5 * once)
    assert.isBelow(archive.bytes(), 1.1 * 1024 * 1024)
    assert.strictEqual(archive.get("0"), noise(4 * 1_500, 2_000))
  })

  it("K12: a text that grew, in a block that is emptied, does not cover those beside it", () => {
    const archive = Archive.make()
    archive.put("grows", "small")
    archive.put("beside", noise(1, 1_000))
    for (const seed of [2, 3, 4]) archive.put("grows", noise(seed, 4_000))

    archive.put("next", noise(5, 4_000))

    assert.strictEqual(archive.get("beside"), noise(1, 1_000))
    assert.strictEqual(archive.get("grows"), noise(4, 4_000))
    assert.strictEqual(archive.get("next"), noise(5, 4_000))
  })

  it("K12: the slabs that hold the blocks are given up when most of them is hole", () => {
    const slabs = Slabs.make()
    const pieces = Array.from({ length: 15_000 }, (_, index) => slabs.put(Buffer.from(noise(index, 1_000))))
    const full = slabs.bytes()

    const kept = pieces.filter((piece, index) => {
      if (index % 10 === 0) return true
      slabs.free(piece)
      return false
    })

    assert.isBelow(slabs.bytes(), full / 4)
    for (const [at, piece] of kept.entries()) assert.strictEqual(Slabs.bytesOf(piece).toString(), noise(at * 10, 1_000))
  })
})

describe("Recent", () => {
  it("K12: keeps at least what was used last, up to its size, and never twice as much", () => {
    const recent = Recent.make<number>(100)
    const add = (index: number) => recent.set(String(index), index, 10)

    for (let index = 0; index < 50; index++) {
      add(index)
      // Used all the time, so that it stays.
      if (index > 0) assert.strictEqual(recent.get("0"), 0)
    }

    const kept = Array.from({ length: 50 }, (_, index) => index).filter(
      (index) => recent.get(String(index)) !== undefined
    )
    assert.includeMembers(kept, [0, 42, 43, 44, 45, 46, 47, 48, 49])
    assert.isAtMost(kept.length, 20)
  })

  it("K12: what was replaced or taken out is not found in the old generation either", () => {
    const recent = Recent.make<string>(20)
    recent.set("a", "old", 10)
    recent.set("b", "old", 10)
    recent.set("c", "other", 10)

    recent.set("a", "new", 10)
    recent.delete("b")

    assert.strictEqual(recent.get("a"), "new")
    assert.isUndefined(recent.get("b"))
  })
})
