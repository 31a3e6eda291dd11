import { assert, describe, it } from "@effect/vitest"
import { checkCrd } from "../../src/internal/engines/crdCheck.ts"
import { type Cause, invalidMessage } from "../../src/internal/engines/causes.ts"
import { arrayOf, at, canonical } from "../../src/internal/engines/json.ts"
import { compile } from "../../src/internal/engines/structural.ts"
import { cases as crds } from "./cases/crd.ts"
import { cases, schema } from "./cases/structural.ts"
import { golden } from "./goldens.ts"
import { crdOf } from "./recordApply.ts"

const sorted = (causes: ReadonlyArray<unknown>) => causes.map(canonical).sort()

const objectOf = (name: string, spec: unknown) => ({
  apiVersion: "golden.example/v1",
  kind: "Structure",
  metadata: { name },
  ...(spec === undefined ? {} : { spec })
})

describe("structural", () => {
  const compiled = compile(schema)
  const recorded = arrayOf(golden("structural"))
  for (const [index, { title, spec, old }] of cases.entries()) {
    it(`T3: a custom resource is judged as the real server judges it: ${title}`, () => {
      const object = compiled.defaults(compiled.prune(objectOf("s", spec)))
      const before = old === undefined ? {} : { old: compiled.defaults(objectOf("s", old)) }

      const causes = compiled.validate(object, before)

      const expected = recorded[index]
      assert.deepStrictEqual(sorted(causes), sorted(arrayOf(at(expected, "refused", "causes"))))
      if (causes.length === 0) assert.deepStrictEqual(object.spec, at(expected, "spec"))
    })
  }
})

/** The position and wording of compilers differ; what is refused, where and why in kind must not. */
const comparable = (cause: unknown) => ({
  field: at(cause, "field"),
  reason: at(cause, "reason"),
  message: String(at(cause, "message")).replace(/compilation failed: [\s\S]*$/u, "compilation failed")
})

describe("checkCrd", () => {
  const recorded = arrayOf(golden("crd"))
  for (const [index, one] of crds.entries()) {
    it(`T3: a definition is judged as the real server judges it: ${one.title}`, () => {
      const causes = checkCrd(crdOf("probes", "Probe", one.schema))

      const expected = arrayOf(at(recorded[index], "refused", "causes"))
      assert.deepStrictEqual(sorted(causes.map(comparable)), sorted(expected.map(comparable)))
    })
  }
})

describe("causes", () => {
  it("T3: the message of a Status names every field once", () => {
    const cause: Cause = { field: "spec.a", reason: "FieldValueRequired", message: "Required value" }

    assert.strictEqual(
      invalidMessage("Kind.group", "n", [cause, cause]),
      'Kind.group "n" is invalid: spec.a: Required value'
    )
    assert.strictEqual(
      invalidMessage("Kind.group", "n", [cause, { ...cause, field: "spec.b" }]),
      'Kind.group "n" is invalid: [spec.a: Required value, spec.b: Required value]'
    )
  })
})
