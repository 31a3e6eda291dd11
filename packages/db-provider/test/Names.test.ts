import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Names from "../src/Names.ts"

const many = Effect.runSync(Effect.all(Array.from({ length: 2_000 }, () => Names.tenant)))

describe("Names", () => {
  it("D2: a tenant's name is t_ and 20 lower-case letters and digits, and no two are alike", () => {
    assert.isTrue(many.every((name) => /^t_[a-z0-9]{20}$/u.test(name) && Names.isTenant(name)))
    assert.strictEqual(new Set(many).size, many.length)
  })

  it("D2: every letter is as likely as any other", () => {
    const counts = new Map<string, number>()
    for (const letter of many.map((name) => name.slice(2)).join("")) counts.set(letter, (counts.get(letter) ?? 0) + 1)

    // 40,000 letters: 1,111 of each, give or take six standard deviations.
    assert.strictEqual(counts.size, 36)
    assert.isTrue([...counts.values()].every((count) => Math.abs(count - 1_111) < 200))
  })

  it("D2: names of other shapes are not taken for tenants'", () => {
    for (const name of [
      "postgres",
      "t_",
      "t_ABCDEFGHIJKLMNOPQRST",
      "t_abcdefghijklmnopqrstu",
      "x t_abcdefghijklmnopqrst"
    ]) {
      assert.isFalse(Names.isTenant(name))
    }
  })

  it("D3: one id of one consumer is one record, whatever its letters, and another's is another", () => {
    const names = [
      Names.record("a", "b-c"),
      Names.record("a-b", "c"),
      Names.record("a", "B-c"),
      Names.record("a", '","'),
      Names.ledger("shard", "a"),
      Names.ledger("consumer", "a")
    ]

    assert.strictEqual(new Set(names).size, names.length)
    assert.strictEqual(Names.record("a", "b-c"), names[0])
    assert.isTrue(names.every((name) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u.test(name)))
  })

  it("D2: a password has 256 bits, and needs no escaping in a URL", () => {
    const password = Effect.runSync(Names.password)

    assert.match(password, /^[A-Za-z0-9_-]{43}$/u)
    assert.notStrictEqual(password, Effect.runSync(Names.password))
  })
})
