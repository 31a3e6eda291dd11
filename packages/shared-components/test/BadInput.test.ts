import * as Builtin from "@berth/kube/Builtin"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { Slice } from "../src/Slice.ts"
import { db, postgres, shared, started, stopped, story, web } from "./support/Berth.ts"

/** A Berth where `fine` is an environment that nothing of the bad input may disturb. */
const beside = Effect.gen(function* () {
  const berth = yield* started
  yield* berth.template("fine", [web, db])
  yield* berth.environment("fine", { templateRef: { name: "fine" } })
  yield* berth.ready(Environment, "fine")
  return { ...berth, undisturbed: berth.ready(Environment, "fine") }
})

const nothingDeployed = Effect.fnUntraced(function* ({
  client,
  namespaceOf
}: Pick<Effect.Success<typeof started>, "client" | "namespaceOf">) {
  const name = yield* namespaceOf("a")
  const { items } = yield* Effect.orDie(client.list(Builtin.Namespace))
  assert.notInclude(
    items.map(({ metadata }) => metadata.name),
    name
  )
})

describe("Bad input", () => {
  story("S23: a provider whose template names a key that does not exist", function* () {
    const { provider, ready, says, sharedComponent, undisturbed } = yield* beside
    const binding = { URL: "postgres://{{ .Host }}/{{ .Instance.dbname }}" }

    yield* provider("broken", { binding })
    yield* sharedComponent("of-broken", { providerRef: { name: "broken" } })

    const { message } = yield* says(SharedComponentProvider, "broken", "provider_invalid")
    assert.include(message, "spec.binding.URL:1:")
    const valid = yield* says(SharedComponentProvider, "broken", "UnknownKey", "Valid")
    assert.include(valid.message, ".Instance.dbname does not exist here; there are host, port, password")
    yield* says(SharedComponent, "of-broken", "provider_stalled")
    yield* undisturbed

    yield* provider("broken")
    yield* ready(SharedComponentProvider, "broken")
    yield* ready(SharedComponent, "of-broken")
  })

  story("S22: a circle in a template", function* () {
    const { client, environment, namespaceOf, ready, says, template, undisturbed } = yield* beside

    yield* template("shop", [
      { name: "a", env: { X: "{{ .Components.b.Y }}" } },
      { name: "b", env: { Y: "y" }, dependsOn: ["a"] }
    ])
    yield* environment("a")

    const { message } = yield* says(EnvironmentTemplate, "shop", "template_invalid")
    assert.include(message, "spec.components[")
    const valid = yield* says(EnvironmentTemplate, "shop", "DependencyCycle", "Valid")
    assert.include(valid.message, "a -> b -> a")
    const refused = yield* says(Environment, "a", "template_invalid")
    assert.match(
      refused.message,
      /^The template shop is not in order, first at spec\.components\[.*\(DependencyCycle\)/u
    )
    const own = yield* says(Environment, "a", "DependencyCycle", "Valid")
    assert.match(own.message, /^EnvironmentTemplate shop spec\.components\[.*a -> b -> a$/u)
    yield* nothingDeployed({ client, namespaceOf })
    yield* undisturbed

    yield* template("shop", [{ name: "a", env: { X: "x" } }])
    yield* ready(EnvironmentTemplate, "shop")
    yield* ready(Environment, "a")
    yield* says(Environment, "a", "Valid", "Valid")
  })

  story("S22, S23: names that do not exist, in a template and in an environment", function* () {
    const { environment, ready, says, template } = yield* started

    yield* template("shop", [db, { name: "web", env: { A: "{{ .Components.dv.URL }}", B: "{{ nope .Env.Name }}" } }])
    yield* environment("a", { env: { wob: { X: { value: "x" } } } })
    const valid = yield* says(EnvironmentTemplate, "shop", "UnknownComponent", "Valid")
    assert.include(valid.message, "spec.components[1].env.A:1:")
    assert.include(valid.message, "there is no function nope")
    yield* template()
    const own = yield* says(Environment, "a", "environment_invalid")
    assert.include(own.message, "spec.env.wob")
    yield* says(Environment, "a", "UnknownComponent", "Valid")

    yield* environment("a", { env: { web: { X: { value: "x" } } } })
    yield* ready(Environment, "a")
  })

  story("S23, K25: a template that does not exist", function* () {
    const { environment, ready, says, template } = yield* started

    yield* environment("a")
    const { message } = yield* says(Environment, "a", "template_missing")
    assert.include(message, "shop")
    const valid = yield* says(Environment, "a", "MissingTemplate", "Valid")
    assert.strictEqual(valid.message, "spec.templateRef.name: there is no EnvironmentTemplate shop")
    assert.match(valid.lastTransitionTime, /^[-0-9]{10}T[:0-9]{8}Z$/u)

    yield* template()
    yield* ready(Environment, "a")
  })

  story("a shared component that does not exist", function* () {
    const { environment, ready, says, sharedComponent, template } = yield* started

    yield* template("shop", [{ name: "cache", sharedComponentRef: { name: "redis" } }])
    yield* environment("a")
    yield* says(EnvironmentTemplate, "shop", "MissingSharedComponent", "Valid")
    yield* says(Environment, "a", "template_invalid")

    yield* sharedComponent("redis")
    yield* ready(EnvironmentTemplate, "shop")
    yield* ready(Environment, "a")
  })

  story("a provider that does not exist", function* () {
    const { environment, provider, ready, says, sharedComponent, template, undisturbed } = yield* beside

    yield* sharedComponent("redis", { providerRef: { name: "redis" } })
    yield* template("shop", [{ name: "cache", sharedComponentRef: { name: "redis" } }])
    yield* environment("a")
    const { message } = yield* says(SharedComponent, "redis", "provider_missing")
    assert.include(message, "redis")
    yield* says(EnvironmentTemplate, "shop", "MissingProvider", "Valid")
    yield* says(Environment, "a", "template_invalid")
    yield* undisturbed

    yield* provider("redis")
    yield* ready(SharedComponent, "redis")
    yield* ready(Environment, "a")
  })

  story("an instance's Secret that does not exist, or lacks a key", function* () {
    const { environment, instance, operator, provider, ready, says, sharedComponent, template } = yield* stopped
    yield* operator.start
    yield* provider()
    yield* sharedComponent()
    yield* template()
    yield* environment("a")

    const missing = yield* says(SharedComponent, "postgres", "secret_missing")
    assert.include(missing.message, `pg, which says how to reach the instance, is not in the namespace ${shared}`)
    yield* says(Environment, "a", "shared_component_stalled")
    yield* instance({ host: "pg.test" })
    const lacking = yield* says(SharedComponent, "postgres", "key_missing")
    assert.include(lacking.message, "port, password")

    yield* instance()
    yield* ready(SharedComponent, "postgres")
    yield* ready(Environment, "a")
  })

  story("parameters that do not fit", function* () {
    const { provider, ready, says, sharedComponent } = yield* started
    const parameters = { type: "object", properties: { size: { type: "integer" } }, required: ["size"] }

    yield* provider("sized", { parameters })
    yield* sharedComponent("sized", { providerRef: { name: "sized" }, parameters: { size: "big" } })
    const { message } = yield* says(SharedComponent, "sized", "parameters_invalid")
    assert.include(message, "spec.parameters.size")

    yield* sharedComponent("sized", { providerRef: { name: "sized" }, parameters: { size: 3 } })
    yield* ready(SharedComponent, "sized")
  })

  story("a provision script that fails, or hangs", function* () {
    const { environment, provider, ready, says, scripts, sharedComponent, slices, template, undisturbed, until } =
      yield* beside
    const script = { ...postgres.provision, image: "berth", retries: 0 }
    yield* provider("flaky", { provision: script })
    yield* sharedComponent("flaky", { providerRef: { name: "flaky" } })
    yield* template("shop", [{ name: "db", sharedComponentRef: { name: "flaky" } }])
    yield* scripts.decide(() => "fails")

    yield* environment("a")
    const [record] = yield* slices("a")
    const name = record?.metadata.name ?? ""
    const { message } = yield* says(Slice, name, "failed")
    assert.match(
      message,
      /^The provision script of the provider flaky failed 1 times, last as the Job slice-[a-z2-7]{20}-provision-1 in/u
    )
    const { status } = yield* until(Environment, { name: "a", namespace: "berth-system" }, (found) =>
      found?.status?.phase === "Failed" ? found : undefined
    )
    assert.deepInclude(status?.components?.[0], { phase: "Failed", reason: "failed" })
    yield* undisturbed

    yield* scripts.decide(() => "hangs")
    yield* provider("flaky", { provision: { ...script, script: "sleep 1d" } })
    yield* says(Slice, name, "timed_out")
    yield* scripts.decide(() => "succeeds")
    yield* provider("flaky", { provision: { ...script, script: "true" } })
    yield* ready(Environment, "a")
  })

  story("fields that this version does not serve are refused by name", function* () {
    const { provider, says, sharedComponent } = yield* started

    yield* provider("grown", { list: { image: "berth", script: "true" } })
    yield* sharedComponent("idle", { idle: { action: "Suspend" } })
    const messages = yield* Effect.all([
      says(SharedComponentProvider, "grown", "unsupported"),
      says(SharedComponent, "idle", "unsupported")
    ])

    const fields = ["spec.list", "spec.idle.action"]
    messages.forEach(({ message }, index) => assert.include(message, fields[index] ?? "none"))
  })
})
