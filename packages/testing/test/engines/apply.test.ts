import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { arrayOf, at, type JsonObject, objectOf } from "../../src/internal/engines/json.ts"
import { apply, conflictMessage, update } from "../../src/internal/engines/managedFields.ts"
import { schema } from "./cases/apply.ts"

const name = Schema.Literals(["x", "y", "z"])
const text = Schema.Literals(["1", "2"])
const map = Schema.Struct({ x: Schema.optionalKey(text), y: Schema.optionalKey(text), z: Schema.optionalKey(text) })
const item = Schema.Struct({ name, value: Schema.optionalKey(text) })

/** A configuration of every sort of field; its lists have each item once. */
const config = Schema.Struct({
  replicas: Schema.optionalKey(Schema.Literals([1, 2])),
  text: Schema.optionalKey(text),
  map: Schema.optionalKey(map),
  set: Schema.optionalKey(Schema.Array(name)),
  list: Schema.optionalKey(Schema.Array(item)),
  atomicList: Schema.optionalKey(Schema.Array(name))
})

type Config = typeof config.Type

const unique = <A>(items: ReadonlyArray<A>, key: (item: A) => string): ReadonlyArray<A> => [
  ...new Map(items.map((item) => [key(item), item])).values()
]

const toSpec = (one: Config): JsonObject => ({
  ...one,
  ...(one.set === undefined ? {} : { set: unique(one.set, (value) => value) }),
  ...(one.list === undefined ? {} : { list: unique(one.list, (value) => value.name) })
})

const writer = (manager: string) => ({ manager, apiVersion: "golden.example/v1", schema, now: "2026-01-01T00:00:00Z" })

const applied = (live: unknown, manager: string, one: JsonObject, force = true): JsonObject => {
  const result = apply({ ...writer(manager), live, applied: { spec: one }, force })
  return "ok" in result ? result.ok : assert.fail(conflictMessage(result.conflicts))
}

const refused = (live: unknown, manager: string, one: JsonObject): boolean =>
  "conflicts" in apply({ ...writer(manager), live, applied: { spec: one } })

const entryOf = (object: JsonObject, manager: string) =>
  arrayOf(at(object, "metadata", "managedFields")).find((entry) => at(entry, "manager") === manager)

const one = { mine: config }
const two = { mine: config, theirs: config }

describe("apply", () => {
  it.prop("T3: applying the same twice changes nothing, not even the time", two, ({ mine, theirs }) => {
    const live = applied(applied(undefined, "b", toSpec(theirs)), "a", toSpec(mine))

    const again = apply({ ...writer("a"), live, applied: { spec: toSpec(mine) }, now: "2027-01-01T00:00:00Z" })

    assert.deepStrictEqual(again, { ok: live })
  })

  it.prop("T3: what is applied is there", two, ({ mine, theirs }) => {
    const live = applied(applied(undefined, "b", toSpec(theirs)), "a", toSpec(mine))

    const spec = objectOf(live["spec"])
    assert.deepStrictEqual(
      [spec["replicas"] ?? mine.replicas, spec["text"] ?? mine.text],
      [mine.replicas ?? spec["replicas"], mine.text ?? spec["text"]]
    )
    for (const value of mine.set ?? []) assert.include(arrayOf(spec["set"]), value)
    for (const [key, value] of Object.entries(mine.map ?? {})) assert.strictEqual(at(spec, "map", key), value)
  })

  it.prop("T3: applying nothing removes only what nobody else owns", two, ({ mine, theirs }) => {
    const own = { keep: "1" }
    const before = applied(undefined, "b", { ...toSpec(theirs), free: own })
    const both = applied(before, "a", toSpec(theirs), false)
    const more = applied(both, "a", { ...toSpec(theirs), nested: { a: "1" } })

    const after = applied(more, "a", { ...(mine.text === theirs.text ? { text: mine.text } : {}), free: own })

    assert.deepStrictEqual(after["spec"], before["spec"])
  })

  it.prop("T3: a conflict is seen from both sides", two, ({ mine, theirs }) => {
    const first = applied(undefined, "a", toSpec(mine))
    const second = applied(undefined, "b", toSpec(theirs))
    const shared = (["replicas", "text"] as const).filter((key) => mine[key] !== undefined && theirs[key] !== undefined)
    const scalars = (from: Config) => Object.fromEntries(shared.map((key) => [key, from[key]]))

    assert.strictEqual(refused(first, "b", scalars(theirs)), refused(second, "a", scalars(mine)))
  })

  it.prop("T3: an update owns what it changed and nothing else", one, ({ mine }) => {
    const live: JsonObject = { metadata: { uid: "u" }, spec: {} }
    const tracked = update({ ...writer("a"), updated: { spec: { text: "0" } } })
    const stored = { ...tracked, metadata: { ...objectOf(tracked["metadata"]), ...objectOf(live["metadata"]) } }

    const same = update({ ...writer("m"), live: stored, updated: stored })
    const changed = update({
      ...writer("m"),
      live: stored,
      updated: { ...stored, spec: { text: "0", ...toSpec(mine) } }
    })

    assert.deepStrictEqual(same, stored)
    const fields = Object.keys(objectOf(at(entryOf(changed, "m"), "fieldsV1", "f:spec"))).sort()
    assert.deepStrictEqual(
      fields,
      Object.keys(mine)
        .map((key) => `f:${key}`)
        .sort()
    )
  })

  it("T3: only a change of the object moves the time of an apply", () => {
    const first = applied(undefined, "a", { text: "1" })

    const shared = apply({ ...writer("b"), live: first, applied: { spec: { text: "1" } }, now: "2027-01-01T00:00:00Z" })
    const changed = apply({
      ...writer("a"),
      live: first,
      applied: { spec: { text: "2" } },
      now: "2027-01-01T00:00:00Z"
    })

    assert.isTrue("ok" in shared && at(entryOf(shared.ok, "b"), "time") === undefined)
    assert.isTrue("ok" in changed && at(entryOf(changed.ok, "a"), "time") === "2027-01-01T00:00:00Z")
  })
})
