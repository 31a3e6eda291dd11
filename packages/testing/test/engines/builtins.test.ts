import { assert, describe, it } from "@effect/vitest"
import { defaultBuiltin, validateBuiltin } from "../../src/internal/engines/builtins.ts"
import { arrayOf, at, canonical, clone, type JsonObject, objectOf, stringOf } from "../../src/internal/engines/json.ts"
import { mergePatch } from "../../src/internal/engines/patch.ts"
import { cases } from "./cases/builtins.ts"
import { golden } from "./goldens.ts"
import { comparable, normalize } from "./recordBuiltins.ts"

const kindOf = (object: unknown): string => {
  const [group, version] = stringOf(at(object, "apiVersion")).split("/")
  const kind = stringOf(at(object, "kind"))
  return version === undefined ? kind : `${kind}.${group}`
}

/** The real server says some things twice. */
const sorted = (causes: ReadonlyArray<unknown>) =>
  [...new Set(causes.map((cause) => canonical(comparable(cause))))].sort()

/** Gives what a server gives before defaults: a uid. */
const received = (object: unknown): JsonObject => {
  const copy = objectOf(clone(object))
  return { ...copy, metadata: { ...objectOf(copy["metadata"]), uid: "5d2f8f0a-0000-4000-8000-000000000000" } }
}

describe("builtins", () => {
  const recorded = arrayOf(golden("builtins"))
  for (const [index, one] of cases.entries()) {
    it(`T3: a built-in object is judged and filled in as by the real server: ${one.title}`, () => {
      const kind = kindOf(one.object)
      const made = defaultBuiltin(kind, received(one.object))
      const object = one.change === undefined ? made : defaultBuiltin(kind, mergePatch(made, one.change))

      const causes = validateBuiltin(kind, object, one.change === undefined ? undefined : made)

      const expected = recorded[index]
      assert.deepStrictEqual(sorted(causes), sorted(arrayOf(at(expected, "refused", "causes"))))
      if (at(expected, "object") !== undefined) assert.deepStrictEqual(normalize(object), at(expected, "object"))
    })
  }
})
