import * as Kind from "@berth/kube/Kind"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Result, Schema } from "effect"
import { Consumer } from "../src/Consumer.ts"
import { Database } from "../src/Database.ts"
import { gracePeriod, Shard } from "../src/Shard.ts"

const kinds = [Shard, Consumer, Database]

interface Node {
  readonly [key: string]: unknown
}
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)
const child = (node: unknown, key: string): Node => (isNode(node) && isNode(node[key]) ? node[key] : {})

/** Every schema within a schema, with its path. Conditions and the manager's record belong to other packages. */
const nodes = (node: unknown, path: string): ReadonlyArray<{ readonly path: string; readonly node: Node }> => {
  if (!isNode(node) || path === "status.conditions" || path === "status.provisioning") return []
  return [
    { path, node },
    ...Object.entries(child(node, "properties")).flatMap(([key, inner]) => nodes(inner, `${path}.${key}`)),
    ...nodes(node["items"], `${path}[]`),
    ...nodes(node["additionalProperties"], `${path}.*`)
  ]
}

const schemaOf = (kind: Kind.Declared) => {
  const properties = child(Kind.crd(kind).spec.versions[0]?.schema.openAPIV3Schema, "properties")
  return [...nodes(properties["spec"], "spec"), ...nodes(properties["status"], "status")]
}

const unbounded = (node: Node): boolean => {
  if (node["type"] === "array") return node["maxItems"] === undefined
  if (isNode(node["additionalProperties"])) return node["maxProperties"] === undefined
  const text = node["type"] === "string" && node["enum"] === undefined && node["format"] === undefined
  return text && node["maxLength"] === undefined
}

const rulesOf = (kind: Kind.Declared): ReadonlyArray<string> =>
  schemaOf(kind).flatMap(({ node, path }) => {
    const found: unknown = node["x-kubernetes-validations"]
    return Array.isArray(found) ? found.filter(isNode).map(({ rule }) => `${path}: ${String(rule)}`) : []
  })

const decoder = (kind: { readonly spec: Schema.ConstraintCodec<object, unknown> }) => {
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(kind.spec))
  return (spec: unknown): boolean => Result.isSuccess(decode(spec))
}

describe("The kinds of the provider", () => {
  it.each(kinds)("every list, map and text of $kind has a bound", (kind) => {
    const found = schemaOf(kind).filter(({ node }) => unbounded(node))

    assert.deepStrictEqual(
      found.map(({ path }) => path),
      []
    )
  })

  it.each(kinds)("every field of $kind has a description", (kind) => {
    const undescribed = schemaOf(kind).filter(
      ({ node, path }) => typeof node["description"] !== "string" && !/(?:^spec|^status|\[\]|\*)$/u.test(path)
    )

    assert.deepStrictEqual(
      undescribed.map(({ path }) => path),
      []
    )
  })

  it.each(kinds)("$kind is of db.berth.dev, and shows whether it is ready and how old it is", (kind) => {
    const names = (kind.columns ?? []).map(({ name }) => name)

    assert.includeMembers(names, ["Ready", "Age"])
    assert.deepStrictEqual([kind.group, kind.version], ["db.berth.dev", "v1alpha1"])
    assert.strictEqual(kind.scope, kind === Database ? "Namespaced" : "Cluster")
  })

  it.each(kinds)("a reference of $kind to a Secret has no namespace: it is the release's", (kind) => {
    const references = schemaOf(kind).filter(({ path }) => path.endsWith("SecretRef"))

    assert.isTrue(references.every(({ node }) => Object.keys(child(node, "properties")).join() === "name,key"))
    assert.isAtLeast(references.length, 1)
  })
})

const shard = {
  primary: { host: "db.example.com" },
  endpoint: { host: "pool.example.com" },
  provisionerSecretRef: { name: "shard-a", key: "password" }
}
describe("Shard", () => {
  const accepts = decoder(Shard)

  it.effect("has defaults for all but its addresses and its Secret", () =>
    Effect.gen(function* () {
      const decoded = yield* Shard.decode({
        apiVersion: "db.berth.dev/v1alpha1",
        kind: "Shard",
        metadata: { name: "a", uid: "u", resourceVersion: "1" },
        spec: shard
      })
      const { spec } = decoded

      assert.strictEqual(Duration.toDays(gracePeriod(decoded)), 7)
      assert.deepInclude(spec, { accepting: true, maxDatabases: 100, ownership: "provider", template: "template0" })
      assert.deepInclude(spec.primary, { port: 5432, sslmode: "verify-full" })
      assert.strictEqual<string>(spec.primary.user, "berth_provisioner")
      assert.deepStrictEqual(spec.limits, { roleConnections: 20, databaseConnections: 25 })
    })
  )

  const refused = [
    { why: "an sslmode that falls back to plain text", change: { endpoint: { host: "x", sslmode: "prefer" } } },
    { why: "a role that would need quoting in messages", change: { primary: { host: "x", user: 'a"b' } } },
    { why: "a limit without a unit", change: { limits: { tempFileLimit: "1000" } } },
    { why: "no limit of connections", change: { limits: { roleConnections: -1 } } },
    { why: "a Secret of another namespace", change: { provisionerSecretRef: { name: "other/s", key: "k" } } }
  ]
  it.each(refused)("refuses $why", ({ change }) => {
    assert.isTrue(accepts(shard))
    assert.isFalse(accepts({ ...shard, ...change }))
  })

  it("says with rules that certificates are for who verifies, and what a pooler without auth_dbname needs", () => {
    const rules = rulesOf(Shard)

    assert.strictEqual(rules.filter((rule) => rule.includes("!has(self.caBundle) ||")).length, 2)
    assert.isTrue(rules.some((rule) => rule.includes("has(self.pooler.authDbname) || self.template == 'template1'")))
  })
})

const database = {
  consumerRef: { name: "ci", uid: "c" },
  externalId: "branch-1",
  databaseName: "t_abcdefghijklmnopqrst",
  roleName: "t_abcdefghijklmnopqrst",
  credentialsSecretRef: { name: "t-abcdefghijklmnopqrst", key: "password" }
}
describe("Database", () => {
  const accepts = decoder(Database)

  const refused = [
    { why: "a name that is not one of the provider's", change: { databaseName: "postgres" } },
    { why: "a name with upper-case letters", change: { databaseName: "t_ABCDEFGHIJKLMNOPQRST" } },
    { why: "a role that is not one of the provider's", change: { roleName: "postgres" } },
    { why: "an id that is a path", change: { externalId: "../other" } },
    { why: "an id that is too long", change: { externalId: "a".repeat(129) } },
    { why: "a consumer without a UID", change: { consumerRef: { name: "ci" } } }
  ]
  it.each(refused)("D2: refuses $why", ({ change }) => {
    assert.isTrue(accepts(database))
    assert.isFalse(accepts({ ...database, ...change }))
  })

  it("D2, D3: says with rules that whose it is, its names and its place do not change", () => {
    assert.includeMembers(
      [...rulesOf(Database)],
      [
        ...[
          "consumerRef",
          "externalId",
          "databaseName",
          "roleName",
          "credentialsSecretRef",
          "labels",
          "shardSelector"
        ].map((each) => `spec.${each}: self == oldSelf`),
        "spec: !has(oldSelf.shardRef) || (has(self.shardRef) && self.shardRef == oldSelf.shardRef)"
      ]
    )
  })
})

describe("Consumer", () => {
  const accepts = decoder(Consumer)
  const token = (name: string) => ({ name, sha256SecretRef: { name: "tokens", key: name } })

  it("has two tokens at most, of different names", () => {
    assert.isTrue(accepts({ tokens: [token("old"), token("new")] }))
    assert.isFalse(accepts({ tokens: [token("a"), token("b"), token("c")] }))
    assert.isFalse(accepts({ tokens: [token("a"), token("a")] }))
  })
})
