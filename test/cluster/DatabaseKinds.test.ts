/** The provider's kinds and a real API server agree: neither takes what the other cannot, and the rules hold. */
import * as Client from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Consumer } from "@berth/db-provider/Consumer"
import { Database } from "@berth/db-provider/Database"
import { Shard } from "@berth/db-provider/Shard"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import { assert, describe, layer } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Option, Result, Schema } from "effect"
import { type Json, mutated } from "../../packages/kube/test/support/mutation.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
if (candidate === undefined) console.warn(`${Clusters.variable} is not set: nothing is tried on a real API server`)

type Tried = KubeObject & { readonly spec: Json }

interface Subject {
  readonly kind: string
  readonly scope: ResourceType.Scope
  readonly crd: ReturnType<typeof Kind.crd>
  readonly type: ResourceType.ResourceType<Tried>
  readonly spec: Schema.ConstraintCodec<object, unknown>
  readonly decode: (object: unknown) => Effect.Effect<{ readonly spec: object }, Schema.SchemaError>
}

const subjectOf = (kind: Kind.Declared & Pick<Subject, "decode" | "spec">): Subject => ({
  kind: kind.kind,
  scope: kind.scope,
  crd: Kind.crd(kind),
  type: ResourceType.make<Tried>(kind),
  spec: kind.spec,
  decode: kind.decode
})
const shards = subjectOf(Shard)
const databases = subjectOf(Database)
const subjects = [shards, subjectOf(Consumer), databases]

/** The API server replaces halves of surrogate pairs, as every UTF-8 does. */
const overTheWire = (value: unknown): Json => JSON.parse(JSON.stringify(value).replace(/\\ud[89a-f][0-9a-f]{2}/gu, "?"))
const salt = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })))
const options = { arbitrary: { runs: 150, size: 8 }, timeout: 120_000 }

const inPlace = ({ scope }: Subject) => (scope === "Namespaced" ? { namespace: "default" } : {})

/** What the API server makes of an object of this spec, without keeping it. */
const tried = (subject: Subject, spec: Json) =>
  Client.Client.use((client) =>
    client.create(subject.type, { metadata: { name: "tried", ...inPlace(subject) }, spec }, { dryRun: true })
  ).pipe(
    // What is not kept has no version.
    Effect.map((answer) => ({ ...answer, metadata: { ...answer.metadata, resourceVersion: "1" } })),
    Effect.result
  )

const isObject = (value: Json | undefined): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const verifying = (address: Json | undefined): Json =>
  isObject(address) && address["caBundle"] !== undefined ? { ...address, sslmode: "verify-full" } : (address ?? null)

/** What an author would also see to: which certificates are for whom, and what a pooler needs. */
const completed = (spec: Json): Json => {
  if (!isObject(spec) || spec["primary"] === undefined) return spec
  return {
    ...spec,
    primary: verifying(spec["primary"]),
    endpoint: verifying(spec["endpoint"]),
    ...(spec["pooler"] === undefined ? {} : { template: "template1" })
  }
}

const defined = Layer.effectDiscard(Effect.forEach(subjects, ({ crd }) => Clusters.definition(crd), { discard: true }))

const shard = {
  primary: { host: "db" },
  endpoint: { host: "pool" },
  provisionerSecretRef: { name: "a", key: "password" }
}
const database = {
  consumerRef: { name: "ci", uid: "c" },
  externalId: "branch-1",
  databaseName: "t_abcdefghijklmnopqrst",
  roleName: "t_abcdefghijklmnopqrst",
  credentialsSecretRef: { name: "s", key: "password" }
}

describe.skipIf(candidate === undefined)("The kinds of the provider on a real API server", () => {
  layer(Layer.provideMerge(defined, candidate?.layer ?? Cluster.embeddedWithClient()), {
    timeout: 60_000,
    excludeTestServices: true
  })((it) => {
    for (const subject of subjects) {
      const encoded = Arbitrary.schema(Schema.toEncoded(subject.spec))
      const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(subject.spec))
      const encode = Schema.encodeUnknownEffect(subject.spec)
      /** A spec as a codec writes it; none where the generator missed what only the codec knows. */
      const written = (value: unknown) =>
        Effect.gen(function* () {
          return overTheWire(yield* encode(yield* decode(completed(overTheWire(value)))))
        }).pipe(Effect.option)
      let accepted = 0

      it.effect.prop(
        `K24: what the codec of ${subject.kind} encodes the CRD accepts, and the codec decodes again`,
        { value: encoded },
        ({ value }) =>
          Effect.gen(function* () {
            const spec = yield* written(value)
            if (Option.isNone(spec)) return
            const answer = yield* tried(subject, spec.value)
            if (Result.isFailure(answer)) {
              // Keys of a map, which no structural schema can describe.
              assert.include(JSON.stringify(answer.failure), "every key must be one of a label")
              return
            }
            accepted += 1
            const again = yield* subject.decode(answer.success)

            assert.deepStrictEqual(
              overTheWire(yield* encode(again.spec)),
              overTheWire(yield* encode(yield* decode(spec.value)))
            )
          }),
        options
      )

      it.effect(`K24: of those, the CRD of ${subject.kind} accepted thirty at least`, () =>
        Effect.sync(() => assert.isAtLeast(accepted, 30))
      )

      it.effect.prop(
        `K24: what the CRD of ${subject.kind} accepts the codec decodes, however careless its author was`,
        { value: encoded, salt },
        ({ salt, value }) =>
          Effect.gen(function* () {
            const spec = yield* written(value)
            if (Option.isNone(spec)) return
            const answer = yield* tried(subject, mutated(spec.value, salt))
            if (Result.isFailure(answer)) return
            const decoded = yield* Effect.result(subject.decode(answer.success))

            assert.isTrue(Result.isSuccess(decoded), JSON.stringify(answer.success))
          }),
        options
      )
    }

    const refused: ReadonlyArray<readonly [string, Subject, Json, string]> = [
      [
        "certificates that nobody verifies against",
        shards,
        { ...shard, endpoint: { host: "pool", sslmode: "require", caBundle: "PEM" } },
        "caBundle is for sslmode"
      ],
      [
        "a pooler that would look users up in clones of template0",
        shards,
        { ...shard, pooler: { authUser: "pooler" } },
        "without pooler.authDbname"
      ],
      ["a tenant's name of another shape", databases, { ...database, databaseName: "postgres" }, "databaseName"]
    ]
    it.effect.each(refused)("the API server refuses %s", ([, subject, spec, words]) =>
      Effect.gen(function* () {
        const answer = yield* tried(subject, spec)

        assert.isTrue(Result.isFailure(answer))
        assert.include(JSON.stringify(answer), words)
      })
    )

    const changes: ReadonlyArray<readonly [string, Json]> = [
      ["its consumer", { consumerRef: { name: "other", uid: "o" } }],
      ["its id", { externalId: "branch-2" }],
      ["its name", { databaseName: "t_zzzzzzzzzzzzzzzzzzzz" }],
      ["its role", { roleName: "t_zzzzzzzzzzzzzzzzzzzz" }],
      ["its credentials", { credentialsSecretRef: { name: "other", key: "password" } }],
      ["its shard", { shardRef: { name: "shard-b", uid: "b" } }],
      ["that it has a shard", { shardRef: null }]
    ]
    it.effect.each(changes)("D2, D3: a record does not change %s", ([, spec]) =>
      Effect.gen(function* () {
        const client = yield* Client.Client
        const namespace = yield* Clusters.namespace
        const metadata = { name: "record", namespace }
        const placed = { ...database, shardRef: { name: "shard-a", uid: "a" } }
        yield* client.create(databases.type, { metadata, spec: database })
        yield* client.patch(databases.type, metadata, { type: "merge", patch: { spec: placed } })

        const error = yield* Effect.flip(client.patch(databases.type, metadata, { type: "merge", patch: { spec } }))

        assert.strictEqual(error._tag, "Invalid")
      }).pipe(Effect.scoped)
    )
  })
})
