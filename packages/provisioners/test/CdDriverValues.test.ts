import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import type { Value, Values } from "../src/CdDriver.ts"
import { digest, masked, ordered, pathOf, placed, revealed, secretsOf, split } from "../src/internal/cd/values.ts"

const secret = (text: string) => Redacted.make(text)

describe("CdDriver: values", () => {
  it("P32: keys come in order at every depth, and lists stay as they are", () => {
    const values = ordered({ b: { d: 1, c: [{ z: 1, y: 2 }, 3] }, a: null })

    assert.strictEqual(JSON.stringify(values), '{"a":null,"b":{"c":[{"y":2,"z":1},3],"d":1}}')
  })

  it("P32: the digest does not depend on the order of keys, and does on everything else", () => {
    const of = (content: unknown, key = "k") => digest(key, content)

    assert.strictEqual(of({ a: 1, b: [1, { d: 1, c: 2 }] }), of({ b: [1, { c: 2, d: 1 }], a: 1 }))
    const others = [of({ a: 1 }), of({ a: "1" }), of({ a: [1] }), of([{ a: 1 }]), of({ a: 1 }, "l"), of({ a: null })]
    assert.strictEqual(new Set(others).size, others.length)
    assert.match(of({}), /^[0-9a-f]{40}$/u)
  })

  const paths: ReadonlyArray<readonly [name: string, path: ReturnType<typeof pathOf>]> = [
    ["a", ["a"]],
    ["a.b.c", ["a", "b", "c"]],
    ["hosts[0]", ["hosts", 0]],
    ["a[1].b[2]", ["a", 1, "b", 2]],
    ["a[0][1]", ["a", 0, 1]],
    ["nodeSelector.kubernetes\\.io/os", ["nodeSelector", "kubernetes.io/os"]],
    ["a\\[b", ["a[b"]],
    ["", undefined],
    ["a.", undefined],
    [".a", undefined],
    ["a..b", undefined],
    ["[0]", undefined],
    ["a[x]", undefined],
    ["a[65536]", undefined]
  ]
  it.each(paths)("P30: the parameter %s goes to its place", (name, path) => {
    assert.deepStrictEqual(pathOf(name), path)
  })

  const placements: ReadonlyArray<readonly [before: Values, path: ReadonlyArray<string | number>, after: Value]> = [
    [{}, ["a", "b"], { a: { b: "x" } }],
    [{ a: { c: 1 } }, ["a", "b"], { a: { c: 1, b: "x" } }],
    [{ a: 1 }, ["a", "b"], { a: { b: "x" } }],
    [{ a: ["p", "q"] }, ["a", 1], { a: ["p", "x"] }],
    [{}, ["a", 1], { a: [null, "x"] }],
    [{ a: [{ c: 1 }] }, ["a", 0, "b"], { a: [{ c: 1, b: "x" }] }],
    [{}, ["constructor", "name"], { constructor: { name: "x" } }]
  ]
  it.each(placements)("P30: into %j at %j a value is put over what is there", (before, path, after) => {
    assert.deepStrictEqual(placed(before, path, "x"), after)
  })

  const values: Values = {
    host: "db",
    login: { user: "web", password: secret("s3same") },
    hosts: ["a", { key: secret("k3y") }],
    plain: ["a"]
  }

  it("P37: what is secret is told apart from what is open, and both make the whole", () => {
    const { open, secret: hidden } = split(values)

    assert.deepStrictEqual(open, { host: "db", login: { user: "web" }, plain: ["a"] })
    assert.deepStrictEqual(revealed(hidden), { login: { password: "s3same" }, hosts: ["a", { key: "k3y" }] })
    assert.notInclude(JSON.stringify([values, hidden]), "s3same")
  })

  it("P37: a text is given without the secrets in it, in each form that they may have there", () => {
    const quoted = { a: secret('say "hi"'), b: secret("s3same and more"), c: secret("s3same"), d: secret("") }

    const text = masked('s3same and more; czNzYW1l; "say \\"hi\\""', secretsOf(quoted))

    assert.strictEqual(text, '***; ***; "***"')
  })

  it("P37: a secret is found as a URL and Go's JSON have it, and half of a character stops nothing", () => {
    const values = { a: secret("<p&ss>"), b: secret("\ud83d") }

    const text = masked('postgres://u:%3Cp%26ss%3E@db; {"password":"\\u003cp\\u0026ss\\u003e"}', secretsOf(values))

    assert.strictEqual(text, 'postgres://u:***@db; {"password":"***"}')
  })
})
