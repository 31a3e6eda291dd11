import * as Builtin from "@berth/kube/Builtin"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as ComponentReleases from "../src/ComponentReleases.ts"
import * as Deployer from "../src/Deployer.ts"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import * as Names from "../src/Names.ts"
import * as chartValues from "../src/internal/chartValues.ts"
import * as specs from "./specs.ts"
import { db, management, started, story } from "./support/Berth.ts"

const chart = { repo: "https://charts.example.test", chart: "app", version: "1.2.3" }

const app = {
  name: "app",
  helm: {
    ...chart,
    values: {
      replicas: 2,
      hosts: ["{{ .Env.Slug }}.example.test"],
      image: { tag: "{{ .Source.Sha }}" },
      database: { url: "{{ .Components.db.URL }}", pool: 5 }
    },
    suspendedValues: { replicas: 0 }
  }
}

describe("The charts of an environment", () => {
  story("S22, S25: get values that stay structured, with what others offer as secrets", function* () {
    const { binding, environment, namespaceOf, operator, ready, template } = yield* started

    yield* template("shop", [app, db])
    yield* environment("a", {
      source: { sha: "abc" },
      values: { app: { replicas: 3, image: { pullPolicy: "Always" } } }
    })
    yield* ready(Environment, "a")

    const { URL = "" } = yield* binding("a")
    const wanted = operator.charts.wanted("app")
    assert.deepStrictEqual(operator.charts.values("app"), {
      database: { pool: 5, url: `<${URL}>` },
      hosts: ["a.example.test"],
      image: { pullPolicy: "Always", tag: "abc" },
      replicas: 3
    })
    assert.deepInclude(wanted, {
      chart: { source: "repository", url: chart.repo, name: "app", version: "1.2.3" },
      namespace: yield* namespaceOf("a"),
      account: { name: Deployer.name, role: Deployer.role }
    })
  })

  story(
    "S27: are deployed with their suspended values while the environment is suspended, and slices stay",
    function* () {
      const { edit, environment, operator, ready, slices, template, until } = yield* started
      yield* template("shop", [app, db])
      yield* environment("a", { source: { sha: "abc" }, values: { app: { replicas: 3 } } })
      yield* ready(Environment, "a")
      const suspend = Effect.fnUntraced(function* (isSuspended: boolean) {
        const { metadata } = yield* edit(Environment, "a", { spec: { suspend: isSuspended } })
        return yield* until(Environment, metadata, (found) =>
          found?.status?.observedGeneration === metadata.generation && found?.status?.phase === "Ready"
            ? true
            : undefined
        )
      })

      yield* suspend(true)
      const suspended = operator.charts.values("app")
      yield* suspend(false)

      assert.deepInclude(suspended, { replicas: 0, hosts: ["a.example.test"] })
      assert.deepInclude(operator.charts.values("app"), { replicas: 3 })
      assert.lengthOf(yield* slices("a"), 1)
    }
  )

  story("S28: come and go with their components, and with the environment, what needs others first", function* () {
    const { edit, environment, gone, operator, read, ready, remove, template, until } = yield* started
    const cache = { name: "cache", helm: chart }
    const front = { name: "front", helm: chart, dependsOn: ["cache"] }
    yield* template("shop", [front, cache])
    yield* environment("a")
    yield* ready(Environment, "a")
    const { metadata } = yield* read(Environment, "a")
    const record = Names.releaseRecord({ name: "a", uid: metadata.uid ?? "" })
    const recorded = (names: ReadonlyArray<string>) =>
      until(Builtin.ConfigMap, { name: record, namespace: management }, (found) => {
        const entries: ReadonlyArray<{ readonly component: string }> = JSON.parse(found?.data?.["releases"] ?? "[]")
        return JSON.stringify(entries.map(({ component }) => component).toSorted()) === JSON.stringify(names)
          ? true
          : undefined
      })

    yield* edit(EnvironmentTemplate, "shop", { spec: { components: [cache, { name: "back", helm: chart }] } })
    yield* recorded(["back", "cache"])
    yield* edit(EnvironmentTemplate, "shop", { spec: { components: [front, cache] } })
    yield* recorded(["cache", "front"])
    yield* ready(Environment, "a")
    yield* remove(Environment, "a")
    yield* gone(Environment, "a")
    yield* gone(Builtin.ConfigMap, record)

    const log = operator.charts.log()
    assert.deepStrictEqual(log.slice(0, 2), ["deploy cache", "deploy front"])
    assert.sameMembers(log.slice(2, 4), ["deploy back", "remove front"])
    assert.sameMembers(log.slice(4, 6), ["deploy front", "remove back"])
    assert.deepStrictEqual(log.slice(6), ["remove front", "remove cache"])
  })

  story("S28: are removed when template, operator and all that was remembered are gone", function* () {
    const { edit, environment, gone, operator, ready, remove, template } = yield* started
    yield* template("shop", [{ name: "cache", helm: chart }])
    yield* environment("a")
    yield* ready(Environment, "a")
    operator.charts.removes("cache", { _tag: "Removing", objects: ["Service/cache"], why: "slow" })
    yield* remove(Environment, "a")
    yield* operator.kill
    yield* edit(EnvironmentTemplate, "shop", { metadata: { finalizers: null } })
    yield* remove(EnvironmentTemplate, "shop")
    yield* gone(EnvironmentTemplate, "shop")

    operator.charts.removes("cache", { _tag: "Gone" })
    yield* operator.start
    yield* gone(Environment, "a")

    assert.deepStrictEqual(operator.charts.log(), ["deploy cache", "remove cache"])
  })

  story("S22, S26: keep what needs them waiting, and what is refused is named", function* () {
    const { environment, operator, ready, says, template, until } = yield* started
    const evil = { name: "app", helm: chart, env: { A: "b" } }
    const objects = ["clusterrolebindings.rbac.authorization.k8s.io/evil"]
    operator.charts.sees("app", { _tag: "Forbidden", objects, why: "no" })

    yield* template("shop", [evil, { name: "front", env: { A: "{{ .Components.app.A }}" } }])
    yield* environment("a")
    const refused = yield* says(Environment, "a", "not_allowed")
    const { status } = yield* until(Environment, { name: "a", namespace: management }, (found) =>
      found?.status?.components?.[0]?.reason === "not_allowed" ? found : undefined
    )
    operator.charts.sees("app", { _tag: "Ready" })
    yield* ready(Environment, "a")

    assert.include(refused.message, objects.join())
    assert.strictEqual(status?.phase, "Failed")
    assert.deepStrictEqual(
      status?.components?.map(({ name, phase }) => `${name} ${phase}`),
      ["app Failed", "front Waiting"]
    )
  })

  story("S26: fail their environment when they take too long, which says which and why", function* () {
    const { environment, operator, ready, says, template, until } = yield* started
    operator.charts.sees("app", { _tag: "Progressing", objects: ["Deployment/app"], why: "slow" })

    yield* template("shop", [{ name: "app", helm: chart }], { deployTimeout: "1s" })
    yield* environment("a")
    const late = yield* says(Environment, "a", "deploy_timeout")
    const { status } = yield* until(Environment, { name: "a", namespace: management }, (found) =>
      found?.status?.phase === "Failed" ? found : undefined
    )
    operator.charts.sees("app", { _tag: "Ready" })
    yield* ready(Environment, "a")

    assert.strictEqual(late.message, "app was not ready within 1s: waiting_for_objects. It goes on being tried.")
    assert.strictEqual(status?.components?.[0]?.phase, "Failed")
    assert.include(status?.components?.[0]?.message, "Deployment/app")
  })

  story(
    "S32: are deployed with the operator's rights only where the template says so, and without the environment's values",
    function* () {
      const { environment, operator, ready, template } = yield* started
      const values = { own: "{{ .Values.size }}" }

      yield* template("shop", [{ name: "app", helm: { ...chart, values, clusterScoped: true } }])
      yield* environment("a", { values: { app: { size: "big", extra: "evil" } } })
      yield* ready(Environment, "a")

      assert.isUndefined(operator.charts.wanted("app")?.account)
      assert.deepStrictEqual(operator.charts.values("app"), { own: "big" })
    }
  )
})

describe("The values of a chart", () => {
  const scene = (values: object) => ({
    environment: { metadata: { name: "a" }, spec: specs.environment({ templateRef: { name: "shop" }, ...values }) },
    namespace: "env-a",
    offers: new Map([["db", { URL: "pg://secret" }]]),
    url: undefined
  })
  const of = (helm: object, values: object = {}) => {
    const [component] = specs.template({ name: "app", helm: { ...chart, ...helm } }).components
    if (component === undefined || !ComponentReleases.has(component)) return assert.fail("no chart")
    return ComponentReleases.values(scene(values), component, 0)
  }

  it("S24: a template gives a text in its place, whatever is in it", () => {
    const hostile = 'x"\n  replicas: 99\n{{ .Components.db.URL }}'
    const rendered = of(
      { values: { a: "{{ .Values.x }}", "{{ .Env.Name }}": [1, true, null] } },
      {
        values: { app: { x: hostile } }
      }
    )

    assert.deepStrictEqual(Result.getOrThrow(rendered), { a: hostile, "{{ .Env.Name }}": [1, true, null], x: hostile })
  })

  it("S23: a key that is missing is an error with its place", () => {
    const rendered = of({ values: { list: ["", { a: "{{ .Values.none }}" }] } })

    assert.isTrue(Result.isFailure(rendered))
    if (Result.isFailure(rendered)) {
      assert.include(rendered.failure.message, "spec.components[0].helm.values.list[1].a:1:")
    }
  })

  it("S24: values have a size and a depth at most", () => {
    const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) })
    const big = "x".repeat(600_000)

    const tooDeep = of({ values: deep(40) })
    const tooBig = of({ values: { a: "{{ .Values.x }}", b: "{{ .Values.x }}" } }, { values: { app: { x: big } } })

    for (const each of [tooDeep, tooBig]) {
      assert.strictEqual(Result.isFailure(each) ? each.failure._tag : "", "LimitExceeded")
    }
  })

  it("S27: maps merge and all else replaces, as Helm merges files", () => {
    const merged = chartValues.merged(
      chartValues.literal({ a: { b: 1, c: [1, 2] }, d: { e: 1 } }),
      chartValues.literal({ a: { c: [3] }, d: null, __proto__: { f: 1 } })
    )

    assert.deepStrictEqual(merged, { a: { b: 1, c: [3] }, d: null })
  })
})
