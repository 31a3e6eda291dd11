import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import * as Consent from "../src/Consent.ts"
import * as Credentials from "../src/Credentials.ts"
import { Database } from "../src/Database.ts"
import * as Names from "../src/Names.ts"

const namespace = "default"
const secretOf = (name: string) => ({ name: Names.credentials(name), namespace })
const get = (name: string) => Client.use((client) => client.get(Builtin.Secret, secretOf(name)))

describe("Credentials", () => {
  layer(Cluster.embeddedWithClient())((it) => {
    it.effect("D3: there is one password, however many ask for it at once and again", () =>
      Effect.gen(function* () {
        const name = yield* Names.tenant

        const passwords = yield* Effect.forEach(Array.from({ length: 6 }), () => Credentials.ensure(name, namespace), {
          concurrency: "unbounded"
        })
        const again = yield* Credentials.ensure(name, namespace)

        assert.strictEqual(new Set([...passwords, again].map(Redacted.value)).size, 1)
        assert.match(Redacted.value(again), /^[\w-]{43}$/u)
      })
    )

    it.effect("D14: who deletes the Secret does not delete the password, until the tenant is dropped", () =>
      Effect.gen(function* () {
        const name = yield* Names.tenant
        const password = yield* Credentials.ensure(name, namespace)
        yield* Client.use((client) => client.delete(Builtin.Secret, secretOf(name)))

        const kept = yield* Credentials.read(name, namespace)
        yield* Credentials.remove(name, namespace)
        yield* Credentials.remove(name, namespace)

        assert.deepStrictEqual(Option.map(kept, Redacted.value), Option.some(Redacted.value(password)))
        assert.strictEqual((yield* Effect.flip(get(name)))._tag, "NotFound")
        assert.isTrue(Option.isNone(yield* Credentials.read(name, namespace)))
      })
    )

    const foreign: ReadonlyArray<readonly [string, Record<string, string>, Record<string, string>]> = [
      ["another tenant's", { [Credentials.tenantAnnotation]: "t_zzzzzzzzzzzzzzzzzzzz" }, { password: "eA==" }],
      ["nobody's", {}, { password: "eA==" }]
    ]
    it.effect.each(foreign)("D3: a Secret that is %s is neither used nor removed", ([, annotations, data]) =>
      Effect.gen(function* () {
        const name = yield* Names.tenant
        const metadata = { ...secretOf(name), annotations }
        yield* Client.use((client) => client.create(Builtin.Secret, { metadata, data }))

        const failures = [
          yield* Effect.flip(Credentials.ensure(name, namespace)),
          yield* Effect.flip(Credentials.remove(name, namespace))
        ]

        assert.deepStrictEqual(
          failures.map(({ _tag, reason }) => [_tag, reason]),
          [
            ["UserActionRequired", "name_taken"],
            ["UserActionRequired", "name_taken"]
          ]
        )
        assert.deepStrictEqual((yield* get(name)).data, data)
      })
    )

    it.effect("D3: a Secret that has lost its password is not filled with another one", () =>
      Effect.gen(function* () {
        const name = yield* Names.tenant
        yield* Credentials.ensure(name, namespace)
        yield* Client.use((client) =>
          client.patch(Builtin.Secret, secretOf(name), { type: "merge", patch: { data: null } })
        )

        assert.strictEqual((yield* Effect.flip(Credentials.ensure(name, namespace))).reason, "name_taken")
      })
    )
  })
})

describe("Consent", () => {
  const record = (metadata: object, spec: object = {}) =>
    Effect.orDie(
      Database.decode({
        apiVersion: "db.berth.dev/v1alpha1",
        kind: "Database",
        metadata: { name: "db-1", namespace, uid: "the-uid", resourceVersion: "1", ...metadata },
        spec: {
          consumerRef: { name: "ci", uid: "c" },
          externalId: "branch-1",
          databaseName: "t_abcdefghijklmnopqrst",
          roleName: "t_abcdefghijklmnopqrst",
          credentialsSecretRef: { name: "s", key: "password" },
          ...spec
        }
      })
    )
  const deletionTimestamp = "2026-01-02T03:04:05Z"
  const annotated = (value: string) => ({ annotations: { [Consent.releaseAnnotation]: value } })

  const rows: ReadonlyArray<readonly [string, object, object, string, boolean]> = [
    ["is there", {}, {}, "nobody", false],
    ["is being deleted", { deletionTimestamp }, {}, "nobody", true],
    ["was deleted through the API", {}, { deleteRequestedAt: deletionTimestamp }, "consumer", false],
    [
      "was deleted through the API and is being deleted",
      { deletionTimestamp },
      { deleteRequestedAt: deletionTimestamp },
      "consumer",
      false
    ],
    ["has its own UID on it", { deletionTimestamp, ...annotated("the-uid") }, {}, "administrator", false],
    ["has another's UID on it", { deletionTimestamp, ...annotated("another-uid") }, {}, "nobody", true],
    ["has an empty annotation on it", { deletionTimestamp, ...annotated("") }, {}, "nobody", true]
  ]
  it.effect.each(rows)("D14: a record that %s is held or let go by whoever agreed", ([, metadata, spec, by, isHeld]) =>
    Effect.gen(function* () {
      const found = yield* record(metadata, spec)

      assert.deepStrictEqual<unknown>([Consent.of(found), Consent.isHeld(found)], [by, isHeld])
    })
  )
})
