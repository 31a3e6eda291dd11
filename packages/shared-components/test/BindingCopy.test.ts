import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as BindingCopy from "../src/BindingCopy.ts"
import { decoded, encoded } from "./support/Bench.ts"
import * as Faults from "./support/Faults.ts"

const ref = { name: "db-binding", namespace: "default" }
const target: BindingCopy.Target = {
  sliceId: "a".repeat(20),
  uid: "uid-1",
  consumer: { name: "shop", uid: "env-1", namespace: ref.namespace, component: "db" }
}
const binding = { PASSWORD: "right", URL: "pg://right" }

const patch = (patch: object) => Client.use((client) => client.patch(Builtin.Secret, ref, { type: "merge", patch }))
const remove = Client.use((client) => client.delete(Builtin.Secret, ref))
const create = (fields: object) => Client.use((client) => client.create(Builtin.Secret, { metadata: ref, ...fields }))
const copy = Client.use((client) => client.get(Builtin.Secret, ref))

const wrong = { data: encoded({ PASSWORD: "wrong" }) }

describe("BindingCopy", () => {
  const deeds: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, Client>]> = [
    ["changes it", patch(wrong)],
    ["adds to it", patch({ data: encoded({ EXTRA: "x" }) })],
    ["takes from it", patch({ data: { URL: null } })],
    ["deletes it", remove],
    ["takes its labels and annotations off", patch({ metadata: { labels: null, annotations: null } })],
    ["makes it immutable and wrong", Effect.andThen(patch(wrong), patch({ immutable: true }))],
    [
      "makes another one of another type",
      Effect.andThen(
        remove,
        create({ type: "kubernetes.io/basic-auth", data: encoded({ username: "x", password: "x" }) })
      )
    ]
  ]
  it.effect.each(deeds)("S12: whoever %s finds it as it was", ([, deed]) =>
    Effect.gen(function* () {
      yield* BindingCopy.write(target, binding)
      const before = yield* copy
      yield* deed

      yield* BindingCopy.write(target, binding)

      const after = yield* copy
      assert.deepStrictEqual(decoded(after), binding)
      assert.strictEqual(after.type, before.type)
      assert.deepStrictEqual(after.metadata.labels, before.metadata.labels)
      assert.deepStrictEqual(after.metadata.annotations, before.metadata.annotations)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S12: a copy that is as it should be is not written", () =>
    Effect.gen(function* () {
      yield* BindingCopy.write(target, binding)
      const faults = Faults.make(yield* Client)

      yield* Effect.provideService(BindingCopy.write(target, binding), Client, faults.client)

      assert.deepStrictEqual(faults.writes, [])
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S12: only the slice's own copy is taken away", () =>
    Effect.gen(function* () {
      yield* BindingCopy.write({ ...target, uid: "uid-2" }, binding)
      yield* BindingCopy.remove(target)
      assert.deepStrictEqual(decoded(yield* copy), binding)

      yield* BindingCopy.remove({ ...target, uid: "uid-2" })
      yield* BindingCopy.remove({ ...target, uid: "uid-2" })
      assert.isTrue(Option.isNone(yield* Effect.option(copy)))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S30: a binding with a type is a service binding of it", () =>
    Effect.gen(function* () {
      yield* BindingCopy.write(target, { ...binding, type: "postgresql" })

      assert.strictEqual((yield* copy).type, "servicebinding.io/postgresql")
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
