/** The CRD and the codec of a kind agree. `support/admission.ts` stands for the API server, and was compared with a real one. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Schema } from "effect"
import * as Kind from "../src/Kind.ts"
import { all, alternatives, SharedComponentProvider } from "./kinds.ts"
import { completed, type Node, problems } from "./support/admission.ts"
import { type Json, mutated } from "./support/mutation.ts"

interface Part {
  readonly name: string
  readonly schema: Schema.ConstraintCodec<object, unknown>
  readonly node: Node
  readonly values: Arbitrary.Arbitrary<unknown>
}

const isNode = (u: unknown): u is Node => typeof u === "object" && u !== null
const parts = all.flatMap((kind): ReadonlyArray<Part> => {
  const root: unknown = Kind.crd(kind).spec.versions[0]?.schema.openAPIV3Schema
  const properties = isNode(root) && isNode(root["properties"]) ? root["properties"] : {}
  return (["spec", "status"] as const).flatMap((part) => {
    const node = properties[part]
    const schema: Part["schema"] = kind[part]
    const values = Arbitrary.schema(schema === SharedComponentProvider.spec ? alternatives : schema)
    return isNode(node) ? [{ name: `${kind.kind}.${part}`, schema, node, values }] : []
  })
})

const overTheWire = (value: unknown): Json => JSON.parse(JSON.stringify(value))
const options = { arbitrary: { runs: 100, size: 12 } }
const salt = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })))

describe.each(parts)("$name", ({ node, schema, values }) => {
  const encode = Schema.encodeUnknownEffect(schema)
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(schema))

  it.effect.prop(
    "K24: what the codec encodes the CRD accepts, and the codec decodes again",
    { value: values },
    ({ value }) =>
      Effect.gen(function* () {
        const encoded = overTheWire(yield* encode(value))
        const stored = completed(node, encoded)
        const again = overTheWire(yield* encode(yield* decode(stored)))

        assert.deepStrictEqual(problems(node, stored), [])
        assert.deepStrictEqual(again, overTheWire(yield* encode(yield* decode(encoded))))
      }),
    options
  )

  it.effect.prop(
    "K24: what the CRD accepts the codec decodes, however careless its author was",
    { value: values, salt },
    ({ salt, value }) =>
      Effect.gen(function* () {
        const stored = completed(node, mutated(overTheWire(yield* encode(value)), salt))
        const exit = yield* Effect.exit(decode(stored))

        if (problems(node, stored).length === 0) assert.isTrue(Exit.isSuccess(exit), String(exit))
      }),
    options
  )
})
