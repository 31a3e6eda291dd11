import * as Builtin from "@berth/kube/Builtin"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as Deployer from "../src/Deployer.ts"
import { Environment } from "../src/Environment.ts"
import * as Names from "../src/Names.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { db, management, shared, stopped, story } from "./support/Berth.ts"

const script = { image: "berth", script: "echo {{ .Slice.Id | shellQuote }} {{ .Instance.password | shellQuote }}" }

const workload = {
  repo: "https://charts.example.test",
  chart: "postgres",
  version: "1.2.3",
  values: {
    name: "{{ .SharedComponent.Slug }}",
    size: "{{ .Parameters.size }}",
    auth: { user: "{{ .Instance.user }}", password: "{{ .Instance.password }}" }
  },
  service: { name: "{{ .SharedComponent.Name }}-pg", port: 5432 }
}

const spec = {
  workload,
  instanceSecret: {
    name: "pg-admin",
    keys: [
      { name: "user", value: "admin" },
      { name: "password", generate: { length: 32, charset: "hex" as const } }
    ]
  },
  provision: script,
  deprovision: script,
  binding: { URL: "postgres://{{ .Host }}:{{ .Port }}/{{ .Slice.Id }}" },
  parameters: {
    type: "object",
    properties: { size: { type: "string", default: "small" } },
    additionalProperties: false
  }
}

const running = Effect.gen(function* () {
  const berth = yield* stopped
  yield* berth.operator.start
  yield* berth.exists(SharedComponentProvider, { metadata: { name: "pg", namespace: management }, spec })
  yield* berth.sharedComponent("postgres", { providerRef: { name: "pg" } })
  yield* berth.ready(SharedComponent, "postgres")
  const secret = Effect.map(berth.read(Builtin.Secret, "pg-admin", shared), ({ data = {} }) =>
    Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]))
  )
  const { metadata } = yield* berth.read(SharedComponent, "postgres")
  const backup = Names.instanceSecret({ name: "postgres", uid: `${metadata.uid}/pg-admin` })
  return { ...berth, secret, backup }
})

describe("The workload of a shared component", () => {
  story("S17, S25: is deployed with credentials of its own, and serves slices by its Service", function* () {
    const { binding, environment, operator, ready, secret, template } = yield* running

    yield* template("shop", [db])
    yield* environment("a")
    yield* ready(Environment, "a")

    const { password = "", ...others } = yield* secret
    assert.match(password, /^[0-9a-f]{32}$/u)
    assert.deepStrictEqual(others, { user: "admin", "berth.host": `postgres-pg.${shared}.svc`, "berth.port": "5432" })
    assert.deepInclude(operator.charts.wanted("postgres"), {
      chart: { source: "repository", url: workload.repo, name: "postgres", version: "1.2.3" },
      namespace: shared,
      account: { name: Deployer.name, role: Deployer.role }
    })
    assert.deepStrictEqual(operator.charts.values("postgres"), {
      auth: { password: `<${password}>`, user: "<admin>" },
      name: "postgres",
      size: "small"
    })
    assert.match((yield* binding("a"))["URL"] ?? "", new RegExp(`^postgres://postgres-pg\\.${shared}\\.svc:5432/`, "u"))
  })

  story("S18: admits nobody before its chart runs", function* () {
    const { environment, operator, provider, ready, says, sharedComponent, started, template } = yield* slow
    yield* started
    yield* provider
    yield* sharedComponent("postgres", { providerRef: { name: "pg" } })
    yield* template("shop", [db])
    yield* environment("a")

    yield* says(SharedComponent, "postgres", "waiting_for_objects")
    yield* says(Environment, "a", "shared_component_not_ready")
    operator.charts.sees("postgres", { _tag: "Ready" })
    yield* ready(Environment, "a")
  })

  story("S17: has its keys follow the provider, and the generated ones restored", function* () {
    const { edit, operator, ready, remove, secret, until } = yield* running
    const { password } = yield* secret
    const is = (wanted: Readonly<Record<string, string>>) =>
      until(Builtin.Secret, { name: "pg-admin", namespace: shared }, (found) =>
        Object.entries(wanted).every(([key, text]) => found?.data?.[key] === Buffer.from(text).toString("base64"))
          ? found
          : undefined
      )

    yield* remove(Builtin.Secret, "pg-admin", shared)
    yield* is({ password: password ?? "", user: "admin", "berth.port": "5432" })
    yield* edit(Builtin.Secret, "pg-admin", { data: { password: null } }, shared)
    yield* is({ password: password ?? "" })
    const keys = [{ name: "user", value: "root" }, ...spec.instanceSecret.keys.slice(1)]
    yield* edit(SharedComponentProvider, "pg", { spec: { instanceSecret: { keys } } })
    yield* is({ password: password ?? "", user: "root" })
    yield* ready(SharedComponent, "postgres")

    assert.strictEqual(operator.charts.log().filter((line) => line === "remove postgres").length, 0)
  })

  story("S17: fails closed where its keys and their backup are lost, and goes on when they are put back", function* () {
    const { backup, edit, exists, operator, read, ready, remove, says, secret } = yield* running
    const { data = {} } = yield* read(Builtin.Secret, "pg-admin", shared)
    const before = yield* secret
    yield* operator.kill
    yield* remove(Builtin.Secret, "pg-admin", shared)
    yield* remove(Builtin.Secret, backup)

    yield* operator.start
    yield* edit(SharedComponent, "postgres", { metadata: { annotations: { "berth.dev/retry": "1" } } })
    const { message } = yield* says(SharedComponent, "postgres", "keys_lost")
    yield* exists(Builtin.Secret, { metadata: { name: "pg-admin", namespace: shared }, data })
    yield* ready(SharedComponent, "postgres")

    assert.include(message, "password")
    assert.deepStrictEqual(yield* secret, before)
  })

  story("S17: leaves a Secret alone that is not its own", function* () {
    const { exists, operator, read, says, sharedComponent } = yield* stopped
    const data = { user: "eA==" }
    yield* exists(Builtin.Secret, { metadata: { name: "pg-admin", namespace: shared }, data })
    yield* exists(SharedComponentProvider, { metadata: { name: "pg", namespace: management }, spec })
    yield* sharedComponent("postgres", { providerRef: { name: "pg" } })

    yield* operator.start
    yield* says(SharedComponent, "postgres", "secret_taken")

    assert.deepStrictEqual((yield* read(Builtin.Secret, "pg-admin", shared)).data, data)
    assert.deepStrictEqual(operator.charts.log(), [])
  })

  story("S6: goes with its shared component, and so do its credentials", function* () {
    const { backup, gone, operator, remove } = yield* running

    yield* remove(SharedComponent, "postgres")
    yield* gone(SharedComponent, "postgres")

    yield* gone(Builtin.Secret, "pg-admin", shared)
    yield* gone(Builtin.Secret, backup)
    assert.deepStrictEqual(operator.charts.log(), ["deploy postgres", "remove postgres"])
  })
})

const slow = Effect.map(stopped, (berth) => {
  berth.operator.charts.sees("postgres", { _tag: "Progressing", objects: ["StatefulSet/postgres"], why: "slow" })
  const provider = berth.exists(SharedComponentProvider, { metadata: { name: "pg", namespace: management }, spec })
  return { ...berth, started: berth.operator.start, provider }
})
