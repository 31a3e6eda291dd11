import { assert, describe, it } from "@effect/vitest"
import {
  arrayOf,
  at,
  clone,
  equal,
  isObject,
  type JsonObject,
  objectOf,
  stringOf
} from "../../src/internal/engines/json.ts"
import { apply, conflictMessage, update } from "../../src/internal/engines/managedFields.ts"
import { mergePatch } from "../../src/internal/engines/patch.ts"
import { histories, schema, type Step } from "./cases/apply.ts"
import { invalidMessage } from "../../src/internal/engines/causes.ts"
import { compile } from "../../src/internal/engines/structural.ts"
import { golden } from "./goldens.ts"
import { normalize } from "./recordApply.ts"

const compiled = compile(schema)

type Result = { readonly object: JsonObject } | { readonly message: string }

/** Keeps of a subresource write only what that endpoint may change. */
const accept = (live: JsonObject, next: JsonObject, step: Step): JsonObject => {
  if (step.subresource === undefined) return { ...next, ...("status" in live ? { status: live["status"] } : {}) }
  const metadata = { ...objectOf(live["metadata"]), managedFields: at(next, "metadata", "managedFields") }
  return { ...live, metadata, status: next["status"] }
}

const run = (live: JsonObject | undefined, step: Step): Result => {
  const body: JsonObject = { apiVersion: "golden.example/v1", kind: "Applied", ...clone(step.body) }
  const writer = {
    manager: step.manager,
    apiVersion: "golden.example/v1",
    schema,
    subresource: step.subresource,
    now: "2026-01-01T00:00:00Z",
    resetFields: step.subresource === "status" ? ["spec"] : ["status"]
  }
  if (step.verb === "apply") {
    const result = apply({ ...writer, live, applied: body, force: step.force })
    return "conflicts" in result ? { message: conflictMessage(result.conflicts) } : { object: result.ok }
  }
  const updated = step.verb === "merge" ? objectOf(mergePatch(live, body)) : body
  return { object: update({ ...writer, live, updated: compiled.defaults(updated) }) }
}

/** What the server does between the merge and the store. */
const checked = (name: string, result: Result): Result => {
  if ("message" in result) return result
  const object = compiled.defaults(result.object, { keepNulls: true })
  const causes = compiled.validate(object)
  return causes.length === 0 ? { object } : { message: invalidMessage("Applied.golden.example", name, causes) }
}

describe("managedFields", () => {
  const recorded = arrayOf(golden("apply"))
  for (const [index, history] of histories.entries()) {
    it(`T3: server-side apply is the real server's: ${history.title}`, () => {
      const outcomes = arrayOf(at(recorded[index], "outcomes"))
      let live: JsonObject | undefined
      for (const [number, step] of history.steps.entries()) {
        const expected = outcomes[number]
        const result = checked(`h${index}`, run(live, step))
        const where = `step ${number}: ${JSON.stringify(step)}`
        if ("message" in result) {
          assert.strictEqual(result.message, stringOf(at(expected, "refused", "message")), where)
          continue
        }
        const metadata = objectOf(result.object["metadata"])
        const stored: JsonObject = { ...result.object, metadata: { ...metadata, uid: "u" } }
        const next = live === undefined ? stored : accept(live, stored, step)
        assert.deepStrictEqual(normalize(next), at(expected, "object"), where)
        if (live !== undefined) assert.strictEqual(!equal(live, next), at(expected, "changed"), where)
        live = next
      }
      assert.isTrue(isObject(live))
    })
  }
})
