import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Crd from "../src/Crd.ts"
import * as Kind from "../src/Kind.ts"
import { all, Shard, SharedComponentProvider, Slice } from "./kinds.ts"

/** The structural schema of one optional field of this type. */
const fieldOf = (field: Schema.Constraint): unknown => {
  const spec = Schema.Struct({ field: Schema.optionalKey(field) })
  const crd = Crd.make({ ...definition, spec })
  return at(crd, "spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties", "field")
}
const definition = {
  group: "g.dev",
  version: "v1",
  kind: "K",
  plural: "ks",
  scope: "Cluster",
  status: Schema.Struct({})
} as const

const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>((inner, key) => (inner instanceof Object ? Reflect.get(inner, key) : undefined), value)
const version = (crd: Crd.Crd, ...path: ReadonlyArray<string | number>) => at(crd, "spec", "versions", 0, ...path)
const specOf = (crd: Crd.Crd, ...path: ReadonlyArray<string>) =>
  version(crd, "schema", "openAPIV3Schema", "properties", "spec", ...path.flatMap((key) => ["properties", key]))

const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
const text = Kind.Text(0, 9)

describe("the CRD of a kind", () => {
  it("K24: has names, categories, columns, the status subresource, and says what the kind is", () => {
    const crd = Kind.crd(Shard)

    assert.deepInclude(crd, { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" })
    assert.deepStrictEqual(crd.metadata, { name: "shards.db.berth.dev" })
    assert.deepInclude(crd.spec, {
      group: "db.berth.dev",
      scope: "Cluster",
      names: { kind: "Shard", listKind: "ShardList", plural: "shards", singular: "shard", categories: ["berth"] }
    })
    assert.deepInclude(Kind.crd(SharedComponentProvider).spec.names, { shortNames: ["scp"] })
    assert.deepInclude(version(crd), {
      name: "v1alpha1",
      served: true,
      storage: true,
      subresources: { status: {} },
      additionalPrinterColumns: [
        { name: "Ready", jsonPath: ".status.conditions[?(@.type=='Ready')].status", type: "string" },
        {
          name: "Databases",
          jsonPath: ".status.databases",
          type: "integer",
          description: "How many there are.",
          priority: 1
        }
      ]
    })
    const description = version(crd, "schema", "openAPIV3Schema", "description")
    assert.strictEqual(description, "A PostgreSQL server that holds databases of many tenants.")
  })

  it("K24: has descriptions, defaults, enums, formats, rules and list keys", () => {
    const shard = Kind.crd(Shard)

    assert.deepStrictEqual(specOf(shard, "primary", "host"), {
      type: "string",
      description: "A DNS name or an address.",
      minLength: 1,
      maxLength: 253
    })
    assert.deepStrictEqual(specOf(shard, "endpoint", "sslmode"), {
      type: "string",
      description: "What tenants are told.",
      default: "verify-full",
      enum: ["require", "verify-ca", "verify-full"]
    })
    assert.deepInclude(specOf(shard, "endpoint"), {
      "x-kubernetes-validations": [
        {
          rule: "self.sslmode == 'require' || has(self.caBundle)",
          message: "verifying needs a caBundle",
          fieldPath: ".caBundle",
          reason: "FieldValueRequired"
        }
      ]
    })
    assert.deepInclude(specOf(Kind.crd(SharedComponentProvider), "capabilities"), { "x-kubernetes-list-type": "set" })
    const jobs = version(Kind.crd(Slice), "schema", "openAPIV3Schema", "properties", "status", "properties", "jobs")
    assert.deepInclude(jobs, {
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      maxItems: 16,
      default: []
    })
    assert.deepInclude(at(jobs, "items", "properties", "finishedAt"), { type: "string", format: "date-time" })
  })

  it("K24: the same kind gives the same bytes", () => {
    for (const kind of all) assert.strictEqual(JSON.stringify(Kind.crd(kind)), JSON.stringify(Kind.crd({ ...kind })))
  })
})

describe("a structural schema", () => {
  const mended: ReadonlyArray<{ reason: string; field: Schema.Constraint; expected: object }> = [
    { reason: "beyond these bounds JSON loses digits", field: Schema.Int, expected: { type: "integer", ...safe } },
    {
      reason: "exclusive bounds are flags",
      field: Schema.Int.check(Schema.isGreaterThan(3)),
      expected: { type: "integer", ...safe, minimum: 3, exclusiveMinimum: true }
    },
    {
      reason: "of two lower bounds the stricter one holds",
      field: Schema.Int.check(Schema.isGreaterThan(3), Schema.isGreaterThanOrEqualTo(5)),
      expected: { type: "integer", ...safe, minimum: 5 }
    },
    {
      reason: "narrower bounds replace those of an Int",
      field: Schema.Int.check(Schema.isInt32()),
      expected: { type: "integer", minimum: -2147483648, maximum: 2147483647 }
    },
    { reason: "integers are no floats", field: Schema.Literals([1, 2]), expected: { type: "integer", enum: [1, 2] } },
    {
      reason: "null is a flag",
      field: Schema.NullOr(text),
      expected: { type: "string", nullable: true, maxLength: 9 }
    },
    {
      reason: "an enum refuses null whatever it lists",
      field: Schema.NullOr(Schema.Literals(["a", "bc"])),
      expected: {
        type: "string",
        nullable: true,
        maxLength: 2,
        "x-kubernetes-validations": [{ rule: `self in ["a","bc"]`, message: "must be one of a, bc" }]
      }
    },
    {
      reason: "anything is preserved",
      field: Schema.Unknown,
      expected: { "x-kubernetes-preserve-unknown-fields": true }
    },
    {
      reason: "what is only passed through has no bound",
      field: Kind.Opaque,
      expected: { type: "object", "x-kubernetes-preserve-unknown-fields": true }
    },
    {
      reason: "unique items are a set",
      field: Schema.Array(text).check(Schema.isUnique(), Schema.isMaxLength(2)),
      expected: {
        type: "array",
        maxItems: 2,
        items: { type: "string", maxLength: 9 },
        "x-kubernetes-list-type": "set"
      }
    },
    {
      reason: "a non-empty list is no tuple",
      field: Schema.NonEmptyArray(text).check(Schema.isMaxLength(2)),
      expected: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", maxLength: 9 } }
    },
    {
      reason: "two patterns hold at once",
      field: text.check(Schema.isPattern(/^a/u), Schema.isPattern(/b$/u)),
      expected: { type: "string", pattern: "^a", maxLength: 9, allOf: [{ pattern: "b$" }] }
    },
    {
      reason: "an open struct preserves the rest",
      field: Schema.StructWithRest(Schema.Struct({ a: text }), [Schema.Record(Schema.String, Schema.Unknown)]),
      expected: {
        type: "object",
        required: ["a"],
        properties: { a: { type: "string", maxLength: 9 } },
        "x-kubernetes-preserve-unknown-fields": true
      }
    },
    {
      reason: "the API server lets a list through where a string has a format, unless a rule stands there",
      field: text.annotate({ format: "uuid" }),
      expected: {
        type: "string",
        format: "uuid",
        maxLength: 9,
        "x-kubernetes-validations": [{ rule: "self == self", message: "must be a string" }]
      }
    },
    {
      reason: "additionalProperties would keep unknown fields",
      field: Schema.Struct({ a: text }),
      expected: { type: "object", required: ["a"], properties: { a: { type: "string", maxLength: 9 } } }
    },
    { reason: "a struct without fields is an object", field: Schema.Struct({}), expected: { type: "object" } },
    {
      reason: "annotations survive defaults and add up",
      field: Schema.Int.pipe(
        Kind.withDefault(1),
        Kind.described("x"),
        Kind.immutable,
        Kind.rule({ rule: "self > 0", message: "m" })
      ),
      expected: {
        type: "integer",
        description: "x",
        default: 1,
        ...safe,
        "x-kubernetes-validations": [
          { rule: "self == oldSelf", message: "cannot be changed" },
          { rule: "self > 0", message: "m" }
        ]
      }
    },
    {
      reason: "both members keep their bounds",
      field: Schema.Union([Kind.Port, Kind.Text(1, 15)]),
      expected: {
        "x-kubernetes-int-or-string": true,
        minimum: 1,
        maximum: 65535,
        minLength: 1,
        maxLength: 15
      }
    },
    { reason: "the author said so", field: Schema.String.pipe(Kind.unbounded), expected: { type: "string" } },
    {
      reason: "the author said so",
      field: Schema.Array(Schema.Boolean).pipe(Kind.unbounded),
      expected: { type: "array", items: { type: "boolean" } }
    }
  ]
  it.each(mended)("K24: mends what it can, since $reason", ({ expected, field }) => {
    assert.deepStrictEqual(fieldOf(field), expected)
  })

  interface Tree {
    readonly children: ReadonlyArray<Tree>
  }
  const Tree = Schema.Struct({
    children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)).check(Schema.isMaxLength(3))
  }).annotate({ identifier: "Tree" })
  const pattern = (expression: RegExp) => text.check(Schema.isPattern(expression))

  const refused: ReadonlyArray<{ what: string; field: Schema.Constraint; problem: string }> = [
    { what: "a recursive type", field: Tree, problem: "field.children.[]: recursion through Tree" },
    {
      what: "alternatives",
      field: Schema.Union([Schema.Struct({ a: text }), Schema.Struct({ b: text })]),
      problem: "field: a union"
    },
    { what: "a tuple", field: Schema.Tuple([Schema.Boolean, Schema.Int]), problem: "field: a tuple" },
    { what: "null alone", field: Schema.Null, problem: "field: null alone" },
    { what: "keys of a shape", field: Schema.Record(pattern(/^a/u), Schema.Int), problem: "field: a map whose keys" },
    { what: "keys of a length", field: Schema.Record(text, Schema.Int), problem: "field: a map whose keys" },
    { what: "a number that may be infinite", field: Schema.Number, problem: "field: a union" },
    { what: "a duration", field: Schema.Duration, problem: "field: a union" },
    {
      what: "literals beside a number",
      field: Schema.Union([Schema.Int, Schema.Literal("auto")]),
      problem: "field: literals in a union"
    },
    {
      what: "a pattern without the flag",
      field: pattern(/^a/),
      problem: "field: a pattern without exactly the flag u"
    },
    {
      what: "a length in UTF-16 units",
      field: Schema.String.check(Schema.isMaxLength(3)),
      problem: "field: isMaxLength counts"
    },
    {
      what: "a least length in UTF-16 units",
      field: text.check(Schema.isMinLength(3)),
      problem: "field: isMinLength counts"
    },
    {
      what: "a filter of one's own",
      field: text.check(Schema.makeFilter(() => true)),
      problem: "field: a filter that the CRD"
    },
    {
      what: "a filter of one's own behind a transformation",
      field: Kind.Time.check(Schema.makeFilter(() => true)),
      problem: "field: a check behind a transformation"
    },
    { what: "a string without a bound", field: Schema.String, problem: "field: a string without a bound" },
    {
      what: "a string without a bound in a list",
      field: Schema.Array(Schema.String).check(Schema.isMaxLength(1)),
      problem: "field.[]: a string without a bound"
    },
    { what: "a list without a bound", field: Schema.Array(text), problem: "field: a list without a bound" },
    {
      what: "a map without a bound",
      field: Schema.Record(Schema.String, text),
      problem: "field: a map without a bound"
    },
    {
      what: "a string without a bound in a map",
      field: Schema.Record(Schema.String, Schema.String).check(Schema.isMaxProperties(1)),
      problem: "field.*: a string without a bound"
    },
    {
      what: "a number or a string without a bound",
      field: Schema.Union([Schema.Int, Schema.String]),
      problem: "field: a string without a bound"
    },
    { what: "a dot in a pattern", field: pattern(/a.b/u), problem: "field: a pattern with a dot" },
    { what: "white space in a pattern", field: pattern(/^\s$/u), problem: "field: a pattern with \\s" },
    { what: "a look-ahead", field: pattern(/^(?!a)/u), problem: "field: a pattern with a look-around" },
    { what: "a look-behind", field: pattern(/(?<=a)b/u), problem: "field: a pattern with a look-around" },
    { what: "a back-reference", field: pattern(/(a)\1/u), problem: "field: a pattern with a back-reference" },
    { what: "an escaped code point", field: pattern(/\u{61}/u), problem: "field: a pattern with \\u" },
    { what: "too many repetitions", field: pattern(/a{1001}/u), problem: "field: a pattern with more than 1,000" },
    {
      what: "a second pattern of that sort",
      field: text.check(Schema.isPattern(/^a/u), Schema.isPattern(/./u)),
      problem: "field: a pattern with a dot"
    },
    {
      what: "a list key that may be absent",
      field: Schema.Array(Schema.Struct({ a: Schema.optionalKey(text) }))
        .check(Schema.isMaxLength(2))
        .pipe(Kind.listMap("a")),
      problem: "field: list key a"
    }
  ]
  it.each(refused)("K24: refuses $what, and says where", ({ field, problem }) => {
    const error = caught(() => fieldOf(field))

    assert.instanceOf(error, Crd.Unrepresentable)
    assert.isTrue(error.message.startsWith(`spec.${problem}`), error.message)
  })

  it("K24: takes patterns that both engines read alike", () => {
    for (const expression of [
      /^a\.b$/u,
      /^[.\n]$/u,
      /^(?:a|b){1,1000}$/u,
      /^\d\w\x41\n$/u,
      /^[\]\\[]$/u,
      /^(?<year>\d{4})$/u
    ]) {
      assert.deepInclude(fieldOf(pattern(expression)), { pattern: expression.source })
    }
  })

  it("refuses a default that is not JSON", () => {
    assert.throws(() => Schema.Unknown.pipe(Kind.withDefault<typeof Schema.Unknown>(new Date(0))), "not JSON")
  })
})

const caught = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (error) {
    return error
  }
}
