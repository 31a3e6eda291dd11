import { assert, describe, it } from "@effect/vitest"
import { arrayOf, at, objectOf, stringOf } from "../../src/internal/engines/json.ts"
import {
  fromSelectorObject,
  matchFields,
  matchLabels,
  parseFieldSelector,
  parseLabelSelector
} from "../../src/internal/engines/selectors.ts"
import { labels } from "./cases/patch.ts"
import { golden } from "./goldens.ts"

const fields = objectOf({ "metadata.name": "p", "metadata.namespace": "default" })

describe("selectors", () => {
  for (const one of arrayOf(at(golden("selectors"), "byLabels"))) {
    const text = stringOf(at(one, "text"))
    it(`T3: a label selector means what it means to the real server: ${JSON.stringify(text)}`, () => {
      const parsed = parseLabelSelector(text)

      if ("error" in parsed) assert.strictEqual(parsed.error, at(one, "error"))
      else assert.strictEqual(matchLabels(parsed.ok, labels), at(one, "selects"))
    })
  }

  for (const one of arrayOf(at(golden("selectors"), "byFields"))) {
    const text = stringOf(at(one, "text"))
    it(`T3: a field selector means what it means to the real server: ${JSON.stringify(text)}`, () => {
      const parsed = parseFieldSelector(text)

      if ("error" in parsed) assert.strictEqual(parsed.error, at(one, "error"))
      else
        assert.strictEqual(
          matchFields(parsed.ok, (field) => stringOf(fields[field])),
          at(one, "selects")
        )
    })
  }

  it("T3: a selector object selects like its text", () => {
    const selector = fromSelectorObject({
      matchLabels: { a: "b" },
      matchExpressions: [
        { key: "x", operator: "In", values: ["y", "z"] },
        { key: "q", operator: "DoesNotExist" }
      ]
    })

    assert.isTrue(matchLabels(selector, labels))
    assert.isFalse(matchLabels(selector, { ...labels, q: "1" }))
    assert.isFalse(matchLabels(selector, { ...labels, x: "w" }))
    assert.isFalse(matchLabels(selector, undefined))
  })
})
