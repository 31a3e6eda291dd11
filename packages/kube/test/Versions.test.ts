import * as Client from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it, layer } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Schema } from "effect"
import * as Builtin from "../src/Builtin.ts"
import * as Crd from "../src/Crd.ts"
import type { KubeObject } from "../src/KubeObject.ts"
import * as ResourceType from "../src/ResourceType.ts"

const name = Kind.Text(1, 20)
const size = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))
const mode = Schema.Literals(["Slow", "Fast"])

/** A kind whose versions add fields at every depth, and of which the last leaves one out. */
const tools = (group: string) => {
  const common = { group, kind: "Tool", scope: "Namespaced" } as const
  const parts = <S extends Schema.Struct<{ readonly name: typeof name }>>(part: S) =>
    Schema.Array(part).pipe(Schema.check(Schema.isMaxLength(5)))
  const v1 = Kind.make({
    ...common,
    version: "v1",
    spec: Schema.Struct({ name, parts: parts(Schema.Struct({ name })) }),
    status: Schema.Struct({})
  })
  const v2 = Kind.make({
    ...common,
    version: "v2",
    spec: Schema.Struct({
      name,
      note: Schema.optionalKey(name),
      parts: parts(Schema.Struct({ name, size: size.pipe(Kind.withDefault(1)) })),
      limits: Schema.optionalKey(Schema.Struct({ most: size }))
    }),
    status: Schema.Struct({ seen: Schema.optionalKey(size) })
  })
  const v3 = Kind.make({
    ...common,
    version: "v3",
    spec: Schema.Struct({
      name,
      mode: mode.pipe(Kind.withDefault("Slow")),
      parts: parts(Schema.Struct({ name, size: size.pipe(Kind.withDefault(1)), mode: Schema.optionalKey(mode) })),
      limits: Schema.optionalKey(Schema.Struct({ most: size, least: Schema.optionalKey(size) }))
    }),
    status: Schema.Struct({ seen: Schema.optionalKey(size), by: Schema.optionalKey(name) })
  })
  return [v1, v2, v3] as const
}

const byStorage = {
  v1: tools("v1.example.dev"),
  v2: tools("v2.example.dev"),
  v3: tools("v3.example.dev")
}
const definitions = [
  Kind.crdOfVersions(byStorage.v1[0], byStorage.v1[1], byStorage.v1[2]),
  Kind.crdOfVersions(byStorage.v2[1], byStorage.v2[0], byStorage.v2[2]),
  Kind.crdOfVersions(byStorage.v3[2], byStorage.v3[0], byStorage.v3[1])
]

const served = Layer.effectDiscard(
  Client.Client.use((client) =>
    Effect.forEach(definitions, (definition) => client.create(Builtin.CustomResourceDefinition, definition))
  )
).pipe(Layer.provideMerge(Cluster.embeddedWithClient()), Layer.orDie)

/** Whether everything that was written is there; what defaults added may be there too. */
const kept = (written: unknown, read: unknown): boolean => {
  if (Array.isArray(written)) return Array.isArray(read) && written.every((each, index) => kept(each, read[index]))
  if (typeof written !== "object" || written === null) return written === read
  return (
    typeof read === "object" &&
    read !== null &&
    Object.entries(written).every(([key, value]) =>
      kept(value, Object.entries(read).find(([name]) => name === key)?.[1])
    )
  )
}

const Which = Schema.Literals([0, 1, 2])
const Trial = Schema.Struct({
  storage: Schema.Literals(["v1", "v2", "v3"]),
  through: Which,
  touches: Schema.Array(Schema.Struct({ through: Which, how: Schema.Literals(["replace", "label", "status"]) })).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(4)
  )
})

interface Tool extends KubeObject {
  readonly spec?: unknown
  readonly status?: unknown
}

/** The kind's objects as they are, whatever its schema says. */
const raw = ({ group, kind, plural, scope, version }: Omit<ResourceType.ResourceType, "~object">) =>
  ResourceType.make<Tool>({ group, kind, plural, scope, version })

let count = 0

layer(served)("a kind in several versions", (it) => {
  const [v1, v2, v3] = byStorage.v1
  it.effect.prop(
    "K28: an object keeps every field, whichever version it was written, touched and read through",
    {
      trial: Arbitrary.schema(Trial),
      first: Arbitrary.schema(v1.spec),
      second: Arbitrary.schema(v2.spec),
      third: Arbitrary.schema(v3.spec),
      status: Arbitrary.schema(v3.status)
    },
    ({ first, second, status, third, trial }) =>
      Effect.gen(function* () {
        const client = yield* Client.Client
        const [a, b, c] = byStorage[trial.storage]
        const types = [raw(a), raw(b), raw(c)] as const
        const ref = { namespace: "default", name: `tool-${++count}` }
        const spec = [first, second, third][trial.through]
        yield* client.create(types[trial.through], { metadata: ref, spec })
        yield* client.patch(types[2], ref, { type: "merge", patch: { status } }, { subresource: "status" })

        for (const { how, through } of trial.touches) {
          const type = types[through]
          const label = { metadata: { labels: { touched: "yes" } } }
          if (how === "replace") yield* client.update(type, yield* client.get(type, ref))
          else if (how === "label") yield* client.patch(type, ref, { type: "merge", patch: label })
          else yield* client.patch(type, ref, { type: "merge", patch: { status: {} } }, { subresource: "status" })
        }

        const read = yield* client.get(types[trial.through], ref)
        const newest = yield* client.get(types[2], ref)
        assert.isTrue(kept(spec, read.spec), JSON.stringify([spec, read.spec]))
        assert.isTrue(kept(status, newest.status ?? {}), JSON.stringify([status, newest.status]))
        yield* a.decode(yield* client.get(types[0], ref))
        yield* b.decode(yield* client.get(types[1], ref))
        yield* c.decode(newest)
      }),
    { arbitrary: { runs: 60, size: 10 } }
  )
})

describe("the definition of a kind in several versions", () => {
  const common = { group: "example.dev", kind: "Tool", scope: "Namespaced" } as const
  const status = Schema.Struct({})
  const of = <S extends Schema.ConstraintCodec<object, unknown>>(version: string, spec: S) =>
    Kind.make({ ...common, version, spec, status })
  const plain = of("v1", Schema.Struct({ name }))

  it("K28: of one version is the kind's own", () => {
    assert.deepStrictEqual(Kind.crdOfVersions(plain), Kind.crd(plain))
  })

  it("K28: every version is served, and the first one stored", () => {
    const { spec } = Kind.crdOfVersions(...byStorage.v1)

    assert.deepStrictEqual(
      spec.versions.map(({ name, served, storage }) => [name, served, storage]),
      [
        ["v1", true, true],
        ["v2", true, false],
        ["v3", true, false]
      ]
    )
  })

  it("K28: a version carries what others have, without needing it or making it up", () => {
    const [oldest] = Kind.crdOfVersions(...byStorage.v1).spec.versions

    assert.deepNestedInclude(oldest, {
      "schema.openAPIV3Schema.properties.spec.properties.mode": { type: "string", enum: ["Slow", "Fast"] },
      "schema.openAPIV3Schema.properties.spec.properties.parts.items.properties.size": {
        type: "integer",
        minimum: 0,
        maximum: 100
      },
      "schema.openAPIV3Schema.properties.spec.properties.parts.items.required": ["name"]
    })
  })

  it.each([
    { change: "another type", spec: Schema.Struct({ name: size }), path: "spec.name" },
    { change: "another bound", spec: Schema.Struct({ name: Kind.Text(1, 21) }), path: "spec.name" },
    { change: "a default", spec: Schema.Struct({ name: name.pipe(Kind.withDefault("x")) }), path: "spec.name" },
    { change: "a field that is needed", spec: Schema.Struct({ name, more: name }), path: "spec.more" },
    {
      change: "a field fewer that was needed",
      spec: Schema.Struct({ other: Schema.optionalKey(name) }),
      path: "spec.name"
    },
    {
      change: "a field that is not needed any more",
      spec: Schema.Struct({ name: Schema.optionalKey(name) }),
      path: "spec.name"
    },
    {
      change: "a rule",
      spec: Schema.Struct({ name }).pipe(Kind.rule({ rule: "self.name != 'x'", message: "no" })),
      path: "spec"
    },
    { change: "free fields", spec: Kind.Opaque, path: "spec" }
  ])(
    "K28: $change in another version is refused, since objects of the one would be wrong in the other",
    ({ path, spec }) => {
      const changed = of("v2", spec)

      for (const [stored, other] of [
        [plain, changed],
        [changed, plain]
      ] as const) {
        try {
          Kind.crdOfVersions(stored, other)
          assert.fail("it was made")
        } catch (error) {
          assert.instanceOf(error, Crd.Unrepresentable)
          assert.strictEqual(error.path, path)
        }
      }
    }
  )

  it("K28: a map in another version where one has fields is refused", () => {
    const fields = of("v1", Schema.Struct({ extra: Schema.Struct({}) }))
    const map = of("v2", Schema.Struct({ extra: Schema.Record(Schema.String, name).pipe(Kind.unbounded) }))

    assert.throws(() => Kind.crdOfVersions(fields, map), /spec\.extra: another additionalProperties/u)
    assert.throws(() => Kind.crdOfVersions(map, fields), /spec\.extra: another additionalProperties/u)
  })

  it("K28: other words in another version are no change", () => {
    const [, second] = Kind.crdOfVersions(
      plain,
      of("v2", Schema.Struct({ name: name.pipe(Kind.described("How it is called.")) }))
    ).spec.versions

    assert.deepNestedInclude(second, {
      "schema.openAPIV3Schema.properties.spec.properties.name.description": "How it is called."
    })
  })

  it.each([
    { wrong: "another kind", other: Kind.make({ ...common, kind: "Toy", version: "v2", spec: plain.spec, status }) },
    { wrong: "the same version", other: plain }
  ])("K28: $wrong is no version of it", ({ other }) => {
    assert.throws(() => Kind.crdOfVersions(plain, other), Crd.Unrepresentable)
  })
})
