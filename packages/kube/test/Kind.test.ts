import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { type DateTime, Effect, Option, Schema } from "effect"
import type { Client } from "../src/Client.ts"
import type { Identifier } from "../src/Identifier.ts"
import * as Kind from "../src/Kind.ts"
import type { KubeError } from "../src/KubeError.ts"
import type { ResourceType } from "../src/ResourceType.ts"
import { SharedComponentProvider, Shard, Slice } from "./kinds.ts"

const metadata = { name: "a", uid: "0d1", resourceVersion: "7", managedFields: [{ manager: "x" }] }
const shard = {
  apiVersion: "db.berth.dev/v1alpha1",
  kind: "Shard",
  metadata,
  spec: {
    primary: { host: "pg" },
    endpoint: { host: "pg", caBundle: "x" },
    provisionerSecretRef: { name: "s" }
  }
}

describe("the types of a kind", () => {
  it("come from its schema", () => {
    type S = Kind.Spec<typeof Shard>
    expectTypeOf<S["endpoint"]["sslmode"]>().toEqualTypeOf<"require" | "verify-ca" | "verify-full">()
    expectTypeOf<S["limits"]["roleConnections"]>().toEqualTypeOf<number | null>()
    expectTypeOf<S["maxDatabases"]>().toEqualTypeOf<number | undefined>()
    expectTypeOf<S["provisionerSecretRef"]["name"]>().toEqualTypeOf<Identifier>()
    expectTypeOf<Kind.Status<typeof Slice>["jobs"][number]["finishedAt"]>().toEqualTypeOf<DateTime.Utc | undefined>()
    expectTypeOf<Kind.Object<typeof Slice>["apiVersion"]>().toEqualTypeOf<"berth.dev/v1alpha1">()
    expectTypeOf<Kind.Object<typeof Slice>["metadata"]["name"]>().toEqualTypeOf<Identifier>()
    const key = (spec: Kind.Spec<typeof SharedComponentProvider>) => {
      const backend = Kind.which(spec, "workload", "external")
      if (backend?.key === "workload") expectTypeOf(backend.value.chart).toEqualTypeOf<string>()
      return backend?.key
    }
    expectTypeOf(key).returns.toEqualTypeOf<"workload" | "external" | undefined>()
  })

  it("K1: the client gives the raw object, typed by the encoded side", () => {
    type Got = Kind.Raw<typeof Slice>
    expectTypeOf<NonNullable<NonNullable<Got["status"]>["jobs"]>[number]["finishedAt"]>().toEqualTypeOf<
      string | undefined
    >()
    expectTypeOf<Got["spec"]["consumer"]["name"]>().toEqualTypeOf<string>()
    const anyKind: ResourceType = Slice
    const get = (client: typeof Client.Service) => client.get(Slice, { name: "a", namespace: "b" })
    expectTypeOf(get).returns.toEqualTypeOf<Effect.Effect<Got, KubeError>>()
    expectTypeOf(Slice.encodeSpec).returns.toEqualTypeOf<Effect.Effect<Got["spec"], Schema.SchemaError>>()

    assert.deepInclude(anyKind, { group: "berth.dev", version: "v1alpha1", kind: "Slice", plural: "slices" })
  })

  it("refuse what does not fit", () => {
    const needed: Effect.Effect<string, never, { readonly needed: true }> = Effect.never
    const needy = Schema.Struct({ a: Schema.String.pipe(Schema.withDecodingDefaultKey(needed)) })
    const options = { group: "g", version: "v1", kind: "K", scope: "Cluster", status: Schema.Struct({}) } as const
    const objects = Schema.Array(Schema.Struct({ a: Schema.String }))
    const wrong = () => [
      // @ts-expect-error not a key of the items
      objects.pipe(Kind.listMap("b")),
      // @ts-expect-error a default of the wrong type
      Schema.Int.pipe(Kind.withDefault("1")),
      // @ts-expect-error not an optional field
      Schema.Struct({ a: Schema.String }).pipe(Kind.exactlyOne("b")),
      // @ts-expect-error a set of objects
      objects.pipe(Kind.listSet),
      // @ts-expect-error a schema that needs services has no place in a kind
      Kind.make({ ...options, spec: needy })
    ]
    assert.isFunction(wrong)
  })
})

describe("objects of a kind", () => {
  it.effect("K24: decode with the CRD's defaults, without what the schema does not know", () =>
    Effect.gen(function* () {
      const object = yield* Shard.decode(shard)

      assert.deepInclude(object.spec.primary, { port: 5432 })
      assert.deepInclude(object.spec.endpoint, { sslmode: "verify-full" })
      assert.deepInclude(object.spec, { limits: { roleConnections: 20 }, accepting: true, ownership: "provider" })
      assert.deepInclude(object.metadata, { labels: {}, annotations: {}, finalizers: [], ownerReferences: [] })
      assert.notProperty(object.metadata, "managedFields")
      assert.notProperty(object, "status")
    })
  )

  it.effect("K24: encode to what was decoded, in JSON", () =>
    Effect.gen(function* () {
      const status = {
        phase: "Bound" as const,
        jobs: [{ name: "j", uid: "1", inputHash: "h", attempt: 1, finishedAt: "2030-01-02T03:04:05Z" }],
        conditions: []
      }
      const spec = {
        consumer: { name: "a", uid: "1" },
        sharedComponent: { name: "b", uid: "2" },
        sliceId: "a".repeat(20)
      }
      const object = yield* Slice.decode({ apiVersion: "berth.dev/v1alpha1", kind: "Slice", metadata, spec, status })

      assert.deepStrictEqual(yield* Slice.encodeSpec(object.spec), spec)
      assert.deepStrictEqual(
        yield* Slice.encodeStatus(object.status ?? { phase: "Waiting", jobs: [], conditions: [] }),
        status
      )
    })
  )

  it.effect("say where they are wrong, everywhere at once", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Shard.decode({ ...shard, spec: { ...shard.spec, primary: { host: "", port: 0 } } })
      )
      const foreign = yield* Effect.flip(Slice.decode(shard))
      const otherKind = yield* Effect.flip(Slice.decode({ ...shard, apiVersion: "berth.dev/v1alpha1" }))

      assert.include(error.message, `["spec"]["primary"]["host"]`)
      assert.include(error.message, `["spec"]["primary"]["port"]`)
      assert.include(foreign.message, `["apiVersion"]`)
      assert.include(otherKind.message, `["kind"]`)
    })
  )

  it.effect("K24: what a list type or an alternative forbids is not encoded either", () =>
    Effect.gen(function* () {
      const job = Option.getOrThrow(
        Schema.decodeUnknownOption(Slice.status.fields.jobs)([{ name: "j", uid: "1", inputHash: "", attempt: 1 }])
      )[0]
      assert.isDefined(job)
      const encoded = (jobs: ReadonlyArray<typeof job>) =>
        Effect.exit(Slice.encodeStatus({ phase: "Bound", conditions: [], jobs }))
      const set = Schema.Array(Kind.Text(0, 9)).pipe(Kind.listSet)
      const one = Schema.Struct({ a: Schema.optionalKey(Schema.Int), b: Schema.optionalKey(Schema.Int) }).pipe(
        Kind.exactlyOne("a", "b")
      )

      assert.strictEqual((yield* encoded([job]))._tag, "Success")
      assert.strictEqual((yield* encoded([job, job]))._tag, "Failure")
      assert.isTrue(Schema.is(set)(["a", "b"]))
      assert.isFalse(Schema.is(set)(["a", "a"]))
      assert.deepStrictEqual([{}, { a: 1 }, { b: 1 }, { a: 1, b: 1 }].map(Schema.is(one)), [false, true, true, false])
    })
  )

  it("which: tells the field that is there", () => {
    const backend: { readonly workload?: string; readonly external?: number } = { external: 3 }

    assert.deepStrictEqual(Kind.which(backend, "workload", "external"), { key: "external", value: 3 })
    assert.isUndefined(Kind.which(backend, "workload"))
  })
})
