import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { type Brand, Option, Schema } from "effect"
import * as Identifier from "../src/Identifier.ts"

const accepted = [
  "a",
  "shard-a",
  "shop/orders",
  "berth.dev/slices",
  "ghcr.io/x/y:v1@sha256",
  "spec.items[0]",
  "A_b",
  "0"
]
const refused = ["", "-a", "a-", 'role "admin" does not exist', "a\nb", "a b", "ä", "$HOME", "{name}", "a/"]

describe("Identifier", () => {
  it.each(accepted)("accepts the name %s", (text) => {
    assert.isTrue(Option.isSome(Identifier.fromString(text)))
  })

  it.each(refused)("refuses %j, which is no name", (text) => {
    assert.isTrue(Option.isNone(Identifier.fromString(text)))
  })

  it("has at most 253 characters", () => {
    assert.isTrue(Option.isSome(Identifier.fromString("a".repeat(253))))
    assert.isTrue(Option.isNone(Identifier.fromString("a".repeat(254))))
  })

  it("is a branded string, and no string is one", () => {
    expectTypeOf<Identifier.Identifier>().toEqualTypeOf<string & Brand.Brand<"Identifier">>()
    expectTypeOf<string>().not.toExtend<Identifier.Identifier>()

    assert.isTrue(Schema.is(Identifier.Identifier)("a"))
  })
})
