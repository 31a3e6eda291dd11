import * as Builtin from "@berth/kube/Builtin"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as ConsumerLabel from "../src/ConsumerLabel.ts"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import * as Names from "../src/Names.ts"
import { environmentUidLabel, sharedComponentUidLabel } from "../src/Records.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { Slice } from "../src/Slice.ts"
import { db, deployed, management, shared, started, stopped, story, web } from "./support/Berth.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")

describe("An environment", () => {
  story("gets its namespace, its slice and its variables", function* () {
    const { binding, env, environment, ready, template } = yield* started

    yield* template()
    yield* environment("a")
    const { status } = yield* ready(Environment, "a")

    const { PASSWORD = "", URL = "" } = yield* binding("a")
    assert.match(URL, /^postgres:\/\/pg.test:5432\/[a-z2-7]{20}$/u)
    assert.lengthOf(PASSWORD, 32)
    assert.deepStrictEqual(yield* env("a"), { DATABASE_URL: URL })
    assert.deepInclude(status, { phase: "Ready", url: "https://a.example.test" })
    assert.deepStrictEqual(status?.components, [
      { name: "db", phase: "Ready" },
      { name: "web", phase: "Ready" }
    ])
  })

  story("S7: has its records before anything else, without an ownerReference, and with their index", function* () {
    const { environment, read, scripts, slices, template, until } = yield* started
    yield* scripts.decide(() => "runs")

    yield* template()
    yield* environment("a")
    const [record] = yield* slices("a")

    const { metadata } = yield* read(Environment, "a")
    const identity = { name: "a", uid: metadata.uid ?? "" }
    const { metadata: sharedMetadata } = yield* read(SharedComponent, "postgres")
    assert.isUndefined(record?.metadata.ownerReferences)
    assert.deepInclude(record?.metadata.labels, {
      [environmentUidLabel]: identity.uid,
      [sharedComponentUidLabel]: sharedMetadata.uid ?? ""
    })
    assert.deepStrictEqual(record?.spec.consumer, {
      ...identity,
      namespace: Names.namespace(identity),
      component: "db"
    })
    assert.match(record?.spec.arrivedAt ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/u)
    yield* until(Slice, { name: record?.metadata.name ?? "", namespace: management }, (slice) =>
      slice?.status?.phase === "Provisioning" ? true : undefined
    )
    yield* scripts.decide(() => "succeeds")
  })

  story("S12: has its variables restored, whatever becomes of them, and from the kept binding", function* () {
    const { binding, client, edit, env, namespace, remove, until } = yield* deployed
    const { DATABASE_URL = "" } = yield* env("a")
    /** As it should be again, in a version later than the one that somebody made. */
    const restored = (name: string, changed: string | undefined) =>
      until(Builtin.Secret, { name, namespace }, (found) =>
        Number(found?.metadata.resourceVersion) > Number(changed) &&
        found?.data?.[name === "web-env" ? "DATABASE_URL" : "URL"] === base64(DATABASE_URL) &&
        found.data["MORE"] === undefined
          ? found
          : undefined
      )
    const evil = { DATABASE_URL: base64("postgres://evil"), URL: base64("postgres://evil"), MORE: "" }

    const edited = yield* edit(Builtin.Secret, "web-env", { data: evil }, namespace)
    const first = yield* restored("web-env", edited.metadata.resourceVersion)
    yield* remove(Builtin.Secret, "web-env", namespace)
    const second = yield* restored("web-env", first.metadata.resourceVersion)
    const frozen = yield* Effect.orDie(client.update(Builtin.Secret, { ...second, data: evil, immutable: true }))
    yield* restored("web-env", frozen.metadata.resourceVersion)
    const copy = yield* edit(Builtin.Secret, "db-binding", { data: evil }, namespace)
    yield* restored("db-binding", copy.metadata.resourceVersion)

    assert.deepStrictEqual(yield* env("a"), { DATABASE_URL })
    assert.strictEqual((yield* binding("a"))["URL"], DATABASE_URL)
  })

  story("S5: has its index mended: labels of its namespace and of its records", function* () {
    const { edit, namespace, slices, until, untilAll } = yield* deployed
    const [record] = yield* slices("a")
    const { metadata, spec } = record ?? assert.fail("no record")
    const label = ConsumerLabel.prefix + spec.sliceId
    const forged = `${ConsumerLabel.prefix}aaaaaaaaaaaaaaaaaaaa`

    yield* edit(Builtin.Namespace, namespace, { metadata: { labels: { [label]: null, [forged]: "x" } } }, "")
    yield* until(Builtin.Namespace, { name: namespace }, (found) =>
      found?.metadata.labels?.[label] === "postgres" && found.metadata.labels[forged] === undefined ? true : undefined
    )
    const edited = yield* edit(Slice, metadata.name, { metadata: { labels: { [environmentUidLabel]: "x" } } })
    yield* untilAll(Slice, ([slice]) =>
      Number(slice?.metadata.resourceVersion) > Number(edited.metadata.resourceVersion) &&
      slice?.metadata.labels?.[environmentUidLabel] === spec.consumer.uid
        ? true
        : undefined
    )
  })

  story("S14: may have two slices of one shared component, and names of any length", function* () {
    const { binding, environment, ready, sharedComponent, slices, template } = yield* started
    const long = "x".repeat(63)

    yield* sharedComponent("a.shared.component.with.dots.and-a-long-name".repeat(4).slice(0, 170))
    yield* template("shop", [db, { ...db, name: long }, { name: "web", env: { A: "{{ .Components.db.URL }}" } }])
    yield* environment(long)
    yield* ready(Environment, long)

    const records = yield* slices(long, 2)
    assert.lengthOf(new Set(records.map(({ spec }) => spec.sliceId)), 2)
    assert.notDeepEqual(yield* binding(long), yield* binding(long, long))
  })

  story("S25: puts no credential anywhere but into Secrets", function* () {
    const { binding, client } = yield* deployed
    const { PASSWORD = "-" } = yield* binding("a")
    const kinds = [Environment, EnvironmentTemplate, SharedComponent, SharedComponentProvider, Slice]
    const types = [...kinds, Builtin.Job, Builtin.Pod, Builtin.Namespace, Builtin.ConfigMap, Builtin.Event]

    const lists = yield* Effect.forEach(types, (type) => Effect.orDie(client.list<Builtin.Of<object>>(type)))

    const { items } = yield* Effect.orDie(client.list(Builtin.Secret))
    const text = JSON.stringify([lists, items.map(({ metadata }) => ({ ...metadata, managedFields: [] }))])
    for (const secret of [PASSWORD, base64(PASSWORD), "admin-secret"]) assert.notInclude(text, secret)
  })

  story("S28: loses what leaves its template, and gets what is added", function* () {
    const { environment, env, gone, namespaceOf, read, ready, slices, template } = yield* started
    yield* template()
    yield* environment("a")
    yield* ready(Environment, "a")
    const namespace = yield* namespaceOf("a")

    yield* template("shop", [{ name: "api", env: { SLUG: "{{ .Env.Slug }}" } }])

    yield* gone(Builtin.Secret, "web-env", namespace)
    yield* slices("a", 0)
    yield* gone(Builtin.Secret, "db-binding", namespace)
    assert.deepStrictEqual(yield* env("a", "api"), { SLUG: "a" })
    assert.deepStrictEqual(
      (yield* read(Builtin.Namespace, namespace, "")).metadata.labels?.[environmentUidLabel],
      (yield* read(Environment, "a")).metadata.uid
    )
  })

  story("S28: keeps a slice whose component got another name, until that is undone or asked for", function* () {
    const { binding, edit, ready, says, slices, template } = yield* deployed
    const [before] = yield* slices("a")
    const renamed = { name: "database", sharedComponentRef: { name: "postgres" } }
    const parked = Effect.gen(function* () {
      const { message } = yield* says(Environment, "a", "slice_renamed", "Stalled")
      assert.match(message, /^database wants a slice of postgres, and that of db, which left the template, is still/u)
    })

    yield* template("shop", [renamed])
    yield* parked
    assert.strictEqual((yield* slices("a"))[0]?.metadata.uid, before?.metadata.uid)

    yield* template("shop", [db, web])
    yield* ready(Environment, "a")
    yield* template("shop", [renamed])
    yield* parked
    // Another pass changes nothing.
    yield* edit(Environment, "a", { spec: { source: { branch: "main" } } })
    yield* parked
    assert.strictEqual((yield* slices("a"))[0]?.metadata.uid, before?.metadata.uid)

    yield* template("shop", [{ ...renamed, replaces: ["db"] }])
    yield* ready(Environment, "a")
    const [after] = yield* slices("a")
    assert.notStrictEqual(after?.spec.sliceId, before?.spec.sliceId)
    assert.isNotEmpty(yield* binding("a", "database"))
  })

  story("writes nothing in a pass that changes nothing", function* () {
    const { environment, operator, provider, ready, says, until } = yield* deployed
    yield* until(SharedComponent, { name: "postgres", namespace: management }, (found) =>
      found?.status?.consumers === 1 ? true : undefined
    )

    yield* operator.kill
    yield* operator.written
    yield* operator.start
    // Served after everything that was there when the operator started.
    yield* provider("later")
    yield* ready(SharedComponentProvider, "later")
    yield* environment("later", { templateRef: { name: "none" } })
    yield* says(Environment, "later", "template_missing")

    assert.deepStrictEqual(
      (yield* operator.written).filter((write) => !write.endsWith(" later")),
      []
    )
  })
})

describe("A slice", () => {
  story("has the defaults of its provider's parameters", function* () {
    const { binding, environment, provider, sharedComponent, template } = yield* started
    const parameters = { type: "object", properties: { mode: { type: "string", default: "require" } } }

    yield* provider("tls", { parameters, binding: { MODE: "{{ .Parameters.mode }}" } })
    yield* sharedComponent("tls", { providerRef: { name: "tls" } })
    yield* template("shop", [{ name: "db", sharedComponentRef: { name: "tls" } }])
    yield* environment("a")

    assert.deepStrictEqual(yield* binding("a"), { MODE: "require" })
  })
})

describe("The end of an environment", () => {
  story("S10: leaves nothing, whatever else is gone by then", function* () {
    const { client, edit, gone, namespace, remove, scripts, slices } = yield* deployed
    const force = (type: typeof Builtin.Secret | typeof SharedComponent, name: string) =>
      edit(type, name, { metadata: { finalizers: null } })

    yield* remove(EnvironmentTemplate, "shop")
    yield* Effect.forEach(["shop"], (name) => edit(EnvironmentTemplate, name, { metadata: { finalizers: null } }))
    yield* remove(SharedComponent, "postgres")
    yield* force(SharedComponent, "postgres")
    yield* remove(SharedComponentProvider, "postgres")
    yield* Effect.ignore(
      client.patch(
        SharedComponentProvider,
        { name: "postgres", namespace: management },
        {
          type: "merge",
          patch: { metadata: { finalizers: null } }
        }
      )
    )
    yield* gone(EnvironmentTemplate, "shop")
    yield* gone(SharedComponent, "postgres")
    yield* remove(Environment, "a")

    yield* gone(Environment, "a")
    yield* slices("a", 0)
    yield* gone(Builtin.Namespace, namespace, "")
    assert.deepStrictEqual(
      (yield* scripts.seen).map((name) => name.replace(/^slice-[a-z2-7]{20}-/u, "")),
      ["provision-1", "deprovision-1"]
    )
    const { items } = yield* Effect.orDie(client.list(Builtin.Secret, { namespace: shared }))
    assert.deepStrictEqual(
      items.map(({ metadata }) => metadata.name),
      ["pg"]
    )
  })

  story("S13: an environment of the same name is another one, and may adopt what was left", function* () {
    const { binding, edit, environment, namespace, namespaceOf, operator, read, ready, remove, slices, until } =
      yield* deployed
    const [old] = yield* slices("a")
    const before = yield* binding("a")
    const record = { name: old?.metadata.name ?? "", namespace: management }

    yield* operator.kill
    yield* remove(Environment, "a")
    yield* edit(Environment, "a", { metadata: { finalizers: null } })
    yield* operator.start
    yield* environment("a")
    yield* ready(Environment, "a")
    yield* until(Slice, record, (slice) => (slice?.status?.phase === "Orphaned" ? true : undefined))

    assert.notStrictEqual(yield* namespaceOf("a"), namespace)
    assert.notDeepEqual(yield* binding("a"), before)
    const [first, second] = yield* slices("a", 2)
    assert.notStrictEqual(first?.spec.sliceId, second?.spec.sliceId)

    const { metadata } = yield* read(Environment, "a")
    yield* edit(Slice, record.name, { metadata: { annotations: { "berth.dev/adopt": metadata.uid ?? "" } } })

    const [adopted] = yield* slices("a", 1)
    assert.strictEqual(adopted?.metadata.name, record.name)
    yield* until(Builtin.Secret, { name: "db-binding", namespace: yield* namespaceOf("a") }, (found) =>
      found?.data?.["URL"] === base64(before["URL"] ?? "") ? true : undefined
    )
    yield* ready(Environment, "a")
  })

  story("S27: comes by itself when its ttl has passed", function* () {
    const { environment, gone, template, until } = yield* started
    yield* template("shop", [web, db], { ttl: "1s" })

    yield* environment("a")
    yield* environment("b", { ttl: "1h" })
    yield* environment("c", { templateRef: { name: "none" }, ttl: "1s" })

    yield* gone(Environment, "a")
    yield* gone(Environment, "c")
    const expiresAt = yield* until(Environment, { name: "b", namespace: management }, (b) => b?.status?.expiresAt)
    assert.isAbove(Date.parse(expiresAt), Date.now() + 3_000_000)
  })
})

describe("Components", () => {
  story("S22: start as soon as what they need is ready, whatever others wait for", function* () {
    const { env, environment, instance, operator, provider, ready, sharedComponent, slices, template, until } =
      yield* stopped
    yield* operator.start
    yield* provider()
    // Not Ready without its instance: nobody gets a place.
    yield* sharedComponent()
    yield* template("shop", [
      { name: "late", env: { A: "{{ .Components.web.DATABASE_URL }}" } },
      web,
      db,
      { name: "free", env: { A: "{{ .Env.Name }}" } },
      { name: "behind", env: { A: "{{ .Components.free.A | upper }}" } }
    ])

    yield* environment("a")

    assert.deepStrictEqual(yield* env("a", "behind"), { A: "A" })
    const { status } = yield* until(Environment, { name: "a", namespace: management }, (found) =>
      found?.status?.components?.find(({ name }) => name === "behind")?.phase === "Ready" ? found : undefined
    )
    const phases = status?.components?.map(({ name, phase }) => `${name} ${phase}`)
    assert.includeMembers([...(phases ?? [])], ["late Waiting", "web Waiting", "free Ready", "behind Ready"])
    yield* slices("a")
    yield* instance()
    yield* ready(Environment, "a")
    assert.match((yield* env("a", "late"))["A"] ?? "", /^postgres:/u)
  })

  story("have the environment's own variables over the template's", function* () {
    const { binding, client, edit, env, environment, exists, ready, says, template, until, namespaceOf } =
      yield* started
    yield* template("shop", [db, { name: "web", env: { A: "{{ .Values.a }}", B: "template", C: "template" } }])

    yield* environment("a", {
      values: { web: { a: "value" } },
      env: {
        web: {
          B: { value: "{{ literal }}" },
          C: { secretKeyRef: { name: "smtp", key: "password" } },
          D: { sliceKeyRef: { component: "db", key: "URL" } }
        }
      }
    })
    const missing = yield* says(Environment, "a", "secret_missing")
    assert.include(missing.message, "smtp")
    const secret = { name: "smtp", namespace: management }
    yield* exists(Builtin.Secret, { metadata: secret, data: {} })
    yield* says(Environment, "a", "secret_not_allowed")
    yield* edit(Builtin.Secret, "smtp", { metadata: { labels: { "berth.dev/for-environments": "true" } } })
    yield* says(Environment, "a", "secret_key_missing")
    yield* edit(Builtin.Secret, "smtp", { data: { password: base64("p") } })
    yield* ready(Environment, "a")

    const { URL = "" } = yield* binding("a")
    assert.deepStrictEqual(yield* env("a"), { A: "value", B: "{{ literal }}", C: "p", D: URL })
    yield* Effect.orDie(
      client.patch(Builtin.Secret, secret, { type: "merge", patch: { data: { password: base64("q") } } })
    )
    yield* until(Builtin.Secret, { name: "web-env", namespace: yield* namespaceOf("a") }, (found) =>
      found?.data?.["C"] === base64("q") ? true : undefined
    )
  })
})
