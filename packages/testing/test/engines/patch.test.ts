import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { arrayOf, at, clone, withoutNulls } from "../../src/internal/engines/json.ts"
import { builtinSchema, defaultBuiltin } from "../../src/internal/engines/builtins.ts"
import { withObjectMeta } from "../../src/internal/engines/objectMeta.ts"
import { jsonPatch, mergePatch, type Patched } from "../../src/internal/engines/patch.ts"
import { strategicMerge } from "../../src/internal/engines/strategicMerge.ts"
import { type Case, cases } from "./cases/patch.ts"
import { golden } from "./goldens.ts"
import { contentOf } from "./recordPatch.ts"

const patched = ({ object, type, patch }: Case): Patched => {
  if (type === "json") return jsonPatch(object, patch)
  if (type === "merge") return { ok: mergePatch(object, patch) }
  return strategicMerge(object, patch, withObjectMeta(builtinSchema(String(object["kind"]))))
}

describe("patches", () => {
  const recorded = arrayOf(golden("patch"))
  for (const [index, one] of cases.entries()) {
    it(`T3: a patch does what the real server does: ${one.title}`, () => {
      const before = clone(one.object)
      const expected = recorded[index]
      const started: Case = { ...one, object: defaultBuiltin(String(one.object["kind"]), one.object) }

      const result = patched(started)

      assert.deepStrictEqual(one.object, before)
      if ("error" in result) {
        assert.deepStrictEqual(
          [result.status, result.error],
          [at(expected, "refused", "code"), at(expected, "refused", "message")]
        )
      } else {
        const after = contentOf(defaultBuiltin(String(one.object["kind"]), result.ok))
        assert.deepStrictEqual(after, at(expected, "after"))
      }
    })
  }
})

const KEYS = ["a", "b", "c"] as const
const level = <S extends Schema.Top>(inner: S) =>
  Schema.Struct({ a: Schema.optionalKey(inner), b: Schema.optionalKey(inner), c: Schema.optionalKey(inner) })
const leaf = Schema.Union([Schema.Literals(["x", "y"]), Schema.Int, Schema.Null])
const inner = Schema.Union([leaf, Schema.Array(Schema.Literals(["x", "y"])), level(leaf)])
const document = level(inner)
const pair = { target: document, patch: document }

describe("mergePatch", () => {
  it.prop("T3: a merge patch applied twice is the patch applied once", pair, ({ target, patch }) => {
    const once = mergePatch(target, patch)
    assert.deepStrictEqual(mergePatch(once, patch), once)
  })

  it.prop("T3: an empty merge patch changes nothing", { target: document }, ({ target }) => {
    assert.deepStrictEqual(mergePatch(target, {}), target)
  })

  it.prop(
    "T3: a merge patch that is no object replaces",
    { target: document, patch: Schema.Union([Schema.Int, Schema.Array(Schema.Int)]) },
    ({ target, patch }) => {
      assert.deepStrictEqual(mergePatch(target, patch), patch)
    }
  )

  it.prop(
    "T3: a merge patch sets what it names, removes what it nulls and keeps the rest",
    pair,
    ({ target, patch }) => {
      const result = mergePatch(target, patch)

      for (const key of KEYS) {
        if (!Object.hasOwn(patch, key)) assert.deepStrictEqual(at(result, key), at(target, key))
        else assert.strictEqual(at(result, key) === undefined, patch[key] === null)
      }
    }
  )

  it.prop("T3: a merge patch over nothing leaves no null behind", { patch: document }, ({ patch }) => {
    assert.deepStrictEqual(mergePatch(undefined, patch), withoutNulls(patch))
  })
})
