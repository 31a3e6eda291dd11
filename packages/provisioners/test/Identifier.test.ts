import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Kube from "@berth/kube/Identifier"
import { Arbitrary, type Brand, Option, Schema } from "effect"
import * as Identifier from "../src/Identifier.ts"

const leaks = [
  'role "admin" does not exist',
  "ECONNREFUSED 10.0.0.7:5432 ",
  "a\nb",
  "password=hunter2",
  "",
  "{name}",
  "ä"
]

describe("Identifier", () => {
  it.each(leaks)("P3: what a server says is no identifier: %j", (text) => {
    assert.isTrue(Option.isNone(Identifier.fromString(text)))
  })

  it("P3: text must be a literal, or pass the check", () => {
    const text: string = "shard-a"
    const wrong = () => [
      // @ts-expect-error its text is unknown
      Identifier.of(text),
      // @ts-expect-error a part of it is
      Identifier.of(`shard-${text}` as const)
    ]
    assert.isFunction(wrong)
    assert.strictEqual(Identifier.of("shard-a"), "shard-a")
    assert.throws(() => Identifier.of("not a name"))
    assert.deepStrictEqual(Identifier.fromString("shop/orders"), Option.some(Identifier.of("shop/orders")))
  })

  it("is the identifier of @berth/kube, though neither package knows the other's", () => {
    expectTypeOf<Identifier.Identifier>().toEqualTypeOf<string & Brand.Brand<"Identifier">>()
    expectTypeOf<Identifier.Identifier>().toEqualTypeOf<Kube.Identifier>()
  })

  const nearly = Schema.Union([
    Schema.String,
    Kube.Identifier,
    Schema.TemplateLiteral([Kube.Identifier, Schema.String])
  ])
  it.prop("accepts what @berth/kube's accepts", { text: Arbitrary.schema(nearly) }, ({ text }) => {
    assert.deepStrictEqual(Identifier.fromString(text), Kube.fromString(text))
  })
})
