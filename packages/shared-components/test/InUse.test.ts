import * as Builtin from "@berth/kube/Builtin"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import * as Names from "../src/Names.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { Slice } from "../src/Slice.ts"
import { db, deployed, management, started, story } from "./support/Berth.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")

describe("What is used", () => {
  story("S6: is kept while it is used, by name, and goes after", function* () {
    const { environment, gone, ready, remove, says, slices } = yield* deployed
    const [record] = yield* slices("a")

    yield* remove(EnvironmentTemplate, "shop")
    yield* remove(SharedComponentProvider, "postgres")
    yield* remove(SharedComponent, "postgres")

    const template = yield* says(EnvironmentTemplate, "shop", "held_by_environments")
    const provider = yield* says(SharedComponentProvider, "postgres", "held_by_shared_components")
    const component = yield* says(SharedComponent, "postgres", "held_by_slices")
    assert.include(template.message, ": a.")
    assert.include(provider.message, ": postgres.")
    assert.include(component.message, record?.metadata.name ?? "none")
    yield* environment("late")
    yield* says(Slice, (yield* slices("late"))[0]?.metadata.name ?? "", "closing")
    yield* ready(Environment, "a")

    yield* remove(Environment, "late")
    yield* remove(Environment, "a")
    yield* gone(Environment, "a")
    yield* gone(SharedComponent, "postgres")
    yield* gone(SharedComponentProvider, "postgres")
    yield* gone(EnvironmentTemplate, "shop")
  })

  story("S6: a record that somebody deletes goes on serving, says what holds it, and goes with its use", function* () {
    const { binding, edit, gone, holds, ready, remove, says, slices, template } = yield* deployed
    const [record] = yield* slices("a")
    const name = record?.metadata.name ?? ""
    const before = yield* binding("a")

    yield* remove(Slice, name)

    const { message } = yield* says(Slice, name, "held")
    assert.strictEqual(
      message,
      "The environment a uses this slice, so it goes on serving: to remove it, delete the environment, or take the component db out of its template."
    )
    yield* holds(Slice, name, "Available")
    // Another pass of the environment, with a record that is being deleted.
    yield* edit(Environment, "a", { spec: { source: { branch: "main" } } })
    yield* ready(Environment, "a")
    assert.deepStrictEqual(yield* binding("a"), before)
    yield* template("shop", [{ name: "web", env: { A: "a" } }])
    yield* gone(Slice, name)
    yield* ready(Environment, "a")
  })

  story("S6: one that was replaced by another of its name is another one: its slices are made anew", function* () {
    const { binding, edit, gone, operator, ready, remove, sharedComponent, slices, until, namespace } = yield* deployed
    const [old] = yield* slices("a")
    const before = yield* binding("a")

    yield* operator.kill
    yield* remove(SharedComponent, "postgres")
    yield* edit(SharedComponent, "postgres", { metadata: { finalizers: null } })
    yield* sharedComponent()
    yield* operator.start

    yield* gone(Slice, old?.metadata.name ?? "")
    const [record] = yield* slices("a")
    assert.notStrictEqual(record?.spec.sliceId, old?.spec.sliceId)
    yield* until(Builtin.Secret, { name: "db-binding", namespace }, (found) =>
      found?.data?.["URL"] !== undefined && found.data["URL"] !== base64(before["URL"] ?? "") ? true : undefined
    )
    yield* ready(Environment, "a")
  })

  story("S1: a place whose record vanished is given back", function* () {
    const { edit, environment, operator, ready, remove, sharedComponent, slices, template, until } = yield* started
    yield* sharedComponent("postgres", { maxConsumers: 1 })
    yield* template("shop", [db])
    yield* environment("a")
    yield* ready(Environment, "a")
    const [record] = yield* slices("a")
    const { name = "", uid = "" } = record?.metadata ?? {}
    const ledger = { name: Names.ledger("postgres"), namespace: management }
    yield* until(Builtin.ConfigMap, ledger, (found) => (found?.data?.["members"]?.includes(uid) ? true : undefined))

    yield* operator.kill
    yield* remove(Slice, name)
    yield* edit(Slice, name, { metadata: { finalizers: null } })
    yield* operator.start

    yield* until(Builtin.ConfigMap, ledger, (found) => (found?.data?.["members"]?.includes(uid) ? undefined : true))
    yield* ready(Environment, "a")
  })

  story("S6: leaves nothing behind", function* () {
    const { client, environment, gone, ready, remove, sharedComponent, template } = yield* started
    yield* sharedComponent("postgres", { maxConsumers: 1 })
    yield* template()
    yield* environment("a")
    yield* ready(Environment, "a")

    yield* remove(Environment, "a")
    yield* remove(SharedComponent, "postgres")
    yield* gone(SharedComponent, "postgres")

    for (const type of [Builtin.Secret, Builtin.ConfigMap, Builtin.Lease]) {
      const { items } = yield* Effect.orDie(client.list<Builtin.Of<object>>(type, { namespace: management }))
      assert.deepStrictEqual(
        items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt"),
        []
      )
    }
  })

  story(
    "S21: slices that are behind are named, stay as they are, and their components get what is asked for",
    function* () {
      const { binding, edit, env, environment, provider, ready, says, slices, until, namespace } = yield* deployed
      const [record] = yield* slices("a")
      const name = record?.metadata.name ?? ""
      yield* says(SharedComponent, "postgres", "Current", "SlicesCurrent")
      const before = yield* env("a")

      const changed = {
        URL: "postgres://{{ .Host }}/{{ .Slice.Id }}?sslmode=require",
        PASSWORD: "{{ .Env.GeneratedSecret }}"
      }
      yield* provider("postgres", { binding: changed })

      const { message } = yield* says(SharedComponent, "postgres", "Behind", "SlicesCurrent")
      assert.include(message, `${name} (binding)`)
      yield* environment("b")
      yield* ready(Environment, "b")
      assert.match((yield* binding("b"))["URL"] ?? "", /sslmode=require$/u)
      assert.deepStrictEqual(yield* env("a"), before)

      yield* edit(Slice, name, { metadata: { annotations: { "berth.dev/refresh-binding": "2" } } })
      yield* until(Builtin.Secret, { name: "web-env", namespace }, (found) =>
        Buffer.from(found?.data?.["DATABASE_URL"] ?? "", "base64")
          .toString()
          .endsWith("?sslmode=require")
          ? true
          : undefined
      )
      yield* says(SharedComponent, "postgres", "Current", "SlicesCurrent")
    }
  )

  story("is counted", function* () {
    const { environment, sharedComponent, slices, template, until } = yield* started
    yield* sharedComponent("postgres", { maxConsumers: 1 })
    yield* template("shop", [db])

    yield* environment("a")
    yield* slices("a")
    yield* environment("b")

    yield* until(SharedComponent, { name: "postgres", namespace: management }, (found) =>
      found?.status?.consumers === 1 && found.status.waiting === 1 ? true : undefined
    )
    yield* until(EnvironmentTemplate, { name: "shop", namespace: management }, (found) =>
      found?.status?.environments === 2 ? true : undefined
    )
    yield* until(SharedComponentProvider, { name: "postgres", namespace: management }, (found) =>
      found?.status?.sharedComponents === 1 ? true : undefined
    )
  })
})
