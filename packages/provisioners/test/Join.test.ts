import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import * as Disposition from "../src/Disposition.ts"
import { worstFirst } from "./support/model.ts"
import { failureOf, Leaf, Reasons, text } from "./support/trees.ts"

describe("join", () => {
  const leaves = Schema.Array(Leaf)
  const failures = (all: ReadonlyArray<Leaf>) =>
    all.map((leaf) => failureOf(leaf, leaf.does) ?? Reasons.terminal({ id: leaf.id }))
  const join = (all: ReadonlyArray<Disposition.ProvisionError>) => {
    const [first, ...rest] = all
    return first === undefined ? [] : [Disposition.join([first, ...rest])]
  }
  const texts = (all: ReadonlyArray<Disposition.ProvisionError>) => all.flatMap(Disposition.leaves).map(text)

  it.prop(
    "P8: is associative and loses nothing, so nesting makes no difference",
    { a: Arbitrary.schema(leaves), b: Arbitrary.schema(leaves), c: Arbitrary.schema(leaves) },
    ({ a, b, c }) => {
      const [x, y, z] = [failures(a), failures(b), failures(c)]
      const flat = texts(join([...x, ...y, ...z]))

      assert.deepStrictEqual(texts(join([...join([...x, ...y]), ...z])), flat)
      assert.deepStrictEqual(texts(join([...x, ...join([...y, ...z])])), flat)
      assert.deepStrictEqual(flat, worstFirst([...x, ...y, ...z].map(text)))
    }
  )
})
