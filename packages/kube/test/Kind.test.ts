import { assert, describe, expect, expectTypeOf, it } from "@effect/vitest"
import { type DateTime, Effect, Schema } from "effect"
import type { Identifier } from "../src/Identifier.ts"
import * as Kind from "../src/Kind.ts"
import { schema } from "../src/internal/structural.ts"
import * as kinds from "./kinds.ts"

const metadata = { name: "a", uid: "0d1", resourceVersion: "7", managedFields: [{ manager: "x" }] }
const shard = {
  apiVersion: "db.berth.dev/v1alpha1",
  kind: "Shard",
  metadata,
  spec: { primary: { host: "pg" }, endpoint: { host: "pg", caBundle: "x" }, provisionerSecretRef: { name: "s" } }
}

describe("types", () => {
  it("come from the schema", () => {
    type S = Kind.Spec<typeof kinds.Shard>
    expectTypeOf<S["endpoint"]["sslmode"]>().toEqualTypeOf<"require" | "verify-ca" | "verify-full">()
    expectTypeOf<S["limits"]["roleConnections"]>().toEqualTypeOf<number | null>()
    expectTypeOf<S["maxDatabases"]>().toEqualTypeOf<number | undefined>()
    expectTypeOf<S["provisionerSecretRef"]["name"]>().toEqualTypeOf<Identifier>()
    expectTypeOf<Kind.Status<typeof kinds.Slice>["jobs"][number]["finishedAt"]>().toEqualTypeOf<
      DateTime.Utc | undefined
    >()
    expectTypeOf<Kind.Object<typeof kinds.Slice>["apiVersion"]>().toEqualTypeOf<"berth.dev/v1alpha1">()
    expectTypeOf<Kind.Object<typeof kinds.Slice>["metadata"]["name"]>().toEqualTypeOf<Identifier>()
    const _never = (spec: Kind.Spec<typeof kinds.SharedComponentProvider>) => {
      const backend = Kind.which(spec, "workload", "external")
      if (backend?.key === "workload") expectTypeOf(backend.value.chart).toEqualTypeOf<string>()
      // @ts-expect-error not a key of the items
      Schema.Array(Schema.Struct({ a: Schema.String })).pipe(Kind.listMap("b"))
      // @ts-expect-error a default of the wrong type
      Schema.Int.pipe(Kind.withDefault("1"))
      // @ts-expect-error not an optional field
      Schema.Struct({ a: Schema.String }).pipe(Kind.exactlyOne("b"))
      // @ts-expect-error a set of objects
      Schema.Array(Schema.Struct({ a: Schema.String })).pipe(Kind.listSet)
      const needy = Schema.Struct({
        a: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.as(kinds_service, "")))
      })
      const options = { group: "g", version: "v1", kind: "K", scope: "Cluster", status: Schema.Struct({}) } as const
      // @ts-expect-error a schema that needs services has no place in a kind
      Kind.make({ ...options, spec: needy })
    }
  })
})
declare const kinds_service: Effect.Effect<string, never, { readonly needed: true }>

describe("objects", () => {
  it.effect("decode with defaults, brand names, and say where they are wrong", () =>
    Effect.gen(function* () {
      const object = yield* kinds.Shard.decode(shard)
      assert.deepStrictEqual(
        [
          object.spec.primary.port,
          object.spec.endpoint.sslmode,
          object.spec.limits,
          object.spec.accepting,
          object.metadata.labels
        ],
        [5432, "verify-full", { roleConnections: 20 }, true, {}]
      )
      assert.deepStrictEqual(yield* kinds.Shard.encodeSpec(object.spec), JSON.parse(JSON.stringify(object.spec)))

      const error = yield* Effect.flip(
        kinds.Shard.decode({ ...shard, spec: { ...shard.spec, primary: { host: "", port: 0 } } })
      )
      assert.include(error.message, `["spec"]["primary"]["host"]`)
      assert.include(error.message, `["spec"]["primary"]["port"]`)
      const backend: { readonly workload?: string; readonly external?: number } = { external: 3 }
      assert.deepStrictEqual(
        [Kind.which(backend, "workload", "external"), Kind.which(backend, "workload")],
        [{ key: "external", value: 3 }, undefined]
      )
      const wrong = yield* Effect.flip(kinds.Slice.decode(shard))
      assert.include(wrong.message, `["kind"]`)
    })
  )
})

describe("structural schemas", () => {
  it("of three kinds", async () => {
    for (const kind of [kinds.Shard, kinds.SharedComponentProvider, kinds.Slice]) {
      await expect(JSON.stringify(Kind.crd(kind), null, 1)).toMatchFileSnapshot(`crds/${kind.kind}.json`)
    }
  })

  it("mend what they can", () => {
    const rows: ReadonlyArray<readonly [Schema.Constraint, unknown]> = [
      [Schema.Int, { type: "integer" }],
      [Schema.Int.check(Schema.isGreaterThan(3)), { type: "integer", minimum: 3, exclusiveMinimum: true }],
      [Schema.Int.check(Schema.isInt32()), { type: "integer", minimum: -2147483648, maximum: 2147483647 }],
      [Schema.Literals([1, 2]), { type: "integer", enum: [1, 2] }],
      [Schema.NullOr(Schema.String), { type: "string", nullable: true }],
      [Schema.Unknown, { "x-kubernetes-preserve-unknown-fields": true }],
      [
        Schema.NullOr(Schema.Literals(["a", "b"])),
        {
          type: "string",
          nullable: true,
          "x-kubernetes-validations": [{ rule: `self in ["a","b"]`, message: "must be one of a, b" }]
        }
      ],
      [
        Schema.Array(Schema.String).check(Schema.isUnique()),
        { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" }
      ],
      [Schema.NonEmptyArray(Schema.String), { type: "array", minItems: 1, items: { type: "string" } }],
      [
        Schema.String.check(Schema.isPattern(/^a/u), Schema.isPattern(/b$/u)),
        { type: "string", pattern: "^a", allOf: [{ pattern: "b$" }] }
      ],
      [
        Schema.StructWithRest(Schema.Struct({ a: Schema.String }), [Schema.Record(Schema.String, Schema.Unknown)]),
        {
          type: "object",
          required: ["a"],
          properties: { a: { type: "string" } },
          "x-kubernetes-preserve-unknown-fields": true
        }
      ],
      [
        Schema.Int.pipe(
          Kind.withDefault(1),
          Kind.described("x"),
          Kind.immutable,
          Kind.rule({ rule: "self > 0", message: "m" })
        ),
        {
          type: "integer",
          description: "x",
          default: 1,
          "x-kubernetes-validations": [
            { rule: "self == oldSelf", message: "cannot be changed" },
            { rule: "self > 0", message: "m" }
          ]
        }
      ]
    ]
    for (const [field, expected] of rows)
      assert.deepStrictEqual(schema(Schema.Struct({ field: Schema.optionalKey(field) }), "spec"), {
        type: "object",
        properties: { field: expected }
      })
  })

  it("refuse what they cannot say, with its path", () => {
    interface Tree {
      readonly children: ReadonlyArray<Tree>
    }
    const Tree = Schema.Struct({ children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)) }).annotate({
      identifier: "Tree"
    })
    const rows: ReadonlyArray<readonly [Schema.Constraint, string]> = [
      [Tree, "recursion through Tree"],
      [Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.String })]), "a union"],
      [Schema.Tuple([Schema.String, Schema.Int]), "a tuple"],
      [Schema.Record(Schema.String.check(Schema.isPattern(/^a/u)), Schema.Int), "patternProperties has no counterpart"],
      [Schema.Number, "a union"],
      [Schema.Duration, "a union"],
      [Schema.Option(Schema.String), "a union"],
      [Schema.String.check(Schema.isPattern(/^a/)), "a pattern without exactly the flag u"],
      [Schema.Array(Schema.String.check(Schema.isMinLength(3))), "isMinLength is written halved"]
    ]
    for (const [field, problem] of rows)
      assert.throws(
        () => schema(Schema.Struct({ deep: Schema.Struct({ field }) }), "spec"),
        new RegExp(`^spec\\.deep\\.field.*: ${problem}`, "u")
      )
  })
})
