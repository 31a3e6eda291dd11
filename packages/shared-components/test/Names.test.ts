import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Names from "../src/Names.ts"

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/u

/** Names as people write them, names that are nearly right, and anything else. */
const Text = Schema.Union([
  Schema.String,
  Schema.String.check(Schema.isPattern(/^[a-z0-9]([-a-z0-9.]{0,120}[a-z0-9])?$/u)),
  Schema.String.check(Schema.isPattern(/^[-A-Za-z0-9_. ]{0,80}$/u)),
  Schema.Literals([
    "",
    "-",
    ".",
    "a".repeat(300),
    "feature/äöü",
    "__proto__",
    "-a-",
    "a--b",
    "a..b",
    "日本",
    "A",
    "a-b"
  ])
])
const makers = [
  { of: "dnsLabel", make: Names.dnsLabel, shape: label, max: 63 },
  { of: "objectName", make: Names.objectName, shape: subdomain, max: 253 },
  { of: "labelValue", make: Names.labelValue, shape: labelValue, max: 63 },
  { of: "slug", make: Names.slug, shape: label, max: 40 },
  { of: "binding", make: Names.binding, shape: subdomain, max: 253 },
  { of: "componentEnv", make: Names.componentEnv, shape: subdomain, max: 253 },
  { of: "provisionLease", make: Names.provisionLease, shape: subdomain, max: 253 },
  { of: "ledger", make: Names.ledger, shape: subdomain, max: 253 }
]

const many = { arbitrary: { runs: 500, size: 60 } }

describe("Names", () => {
  for (const { make, max, of, shape } of makers) {
    it.prop(
      `S14: ${of} makes a valid name of any text, and the same one each time`,
      [Text],
      ([given]) => {
        const made = make(given)

        assert.match(made, shape)
        assert.isAtMost(made.length, max)
        assert.strictEqual(make(given), made)
      },
      many
    )

    it.prop(
      `S14: ${of} never gives two texts one name, also where one text is the other's name`,
      [Text, Text],
      ([one, other]) => {
        const taken = make(one)

        if (one !== other) assert.notStrictEqual(make(other), taken)
        if (taken !== one) assert.notStrictEqual(make(taken), taken)
      },
      many
    )
  }

  it("S14: a text that fits stays as it is", () => {
    assert.strictEqual(Names.slug("feature-one"), "feature-one")
    assert.strictEqual(Names.slug("a".repeat(40)), "a".repeat(40))
    assert.notStrictEqual(Names.slug("a".repeat(41)), "a".repeat(41))
    assert.strictEqual(Names.provisionLease("db"), "berth-provision-db")
    assert.strictEqual(Names.componentEnv("app"), "app-env")
    assert.strictEqual(Names.labelValue(""), "")
    assert.strictEqual(Names.labelValue("A_b.c"), "A_b.c")
  })

  it("S14: parts that read alike when they are joined have different names", () => {
    assert.notStrictEqual(Names.composed(["a-b", "c"]), Names.composed(["a", "b-c"]))
    assert.notStrictEqual(Names.composed(["a", "b"]), Names.composed(["a"], ["b"]))
    assert.match(Names.composed(["env", "x".repeat(300)], ["uid"]), /^env-x+-[a-z2-7]{12}$/u)
    assert.match(Names.composed(["日本"]), /^x-[a-z2-7]{12}$/u)
  })

  it("S14, S13: a slice id depends on the environment's UID, the component and the shared component's UID", () => {
    const one = { environmentUid: "e", component: "c", sharedComponentUid: "s" }
    const ids = [
      one,
      { ...one, environmentUid: "e2" },
      { ...one, component: "c2" },
      { ...one, sharedComponentUid: "s2" },
      { environmentUid: "ec", component: "", sharedComponentUid: "s" }
    ].map(Names.sliceId)

    assert.strictEqual(new Set(ids).size, ids.length)
    for (const id of ids) assert.match(id, /^[a-z2-7]{20}$/u)
    assert.strictEqual(Names.sliceId(one), "2smpr4vmvjymbxrorqfm")
  })

  it("S14, S13: an environment that is made again has another namespace and the same slug", () => {
    const [before, after] = [
      { name: "feature-one", uid: "1" },
      { name: "feature-one", uid: "2" }
    ]

    assert.notStrictEqual(Names.namespace(before), Names.namespace(after))
    assert.strictEqual(Names.slug(before.name), Names.slug(after.name))
    assert.notStrictEqual(
      Names.sliceRecord(before, "db", { name: "db", uid: "s" }),
      Names.sliceRecord(after, "db", { name: "db", uid: "s" })
    )
  })

  it("S14: everything that belongs to a slice has a name of its own that is a label", () => {
    const id = Names.sliceId({ environmentUid: "e", component: "c", sharedComponentUid: "s" })
    const kinds = ["provision", "deprovision"] as const
    const names = [
      ...kinds.flatMap((kind) =>
        [1, 2, 9999].flatMap((attempt) => [Names.job(id, kind, attempt), Names.jobInput(id, kind, attempt)])
      ),
      Names.credentials(id),
      Names.keptBinding(id)
    ]

    assert.strictEqual(new Set(names).size, names.length)
    for (const name of names) {
      assert.match(name, label)
      assert.isAtMost(name.length, 63)
    }
  })
})
