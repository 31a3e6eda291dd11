import { Client } from "@berth/kube/Client"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import * as Plan from "../src/Plan.ts"
import { Settings } from "../src/Settings.ts"
import * as specs from "./specs.ts"
import * as Bench from "./support/Bench.ts"

const db = { name: "db", sharedComponentRef: { name: "postgres" } }
const web = {
  name: "web",
  env: { URL: "{{ .Components.db.URL }}", NAME: "{{ .Env.Name | upper }}", BRANCH: "{{ .Source.Branch }}" }
}

const planned = (bench: Bench.Bench, fields: object, components: ReadonlyArray<unknown>) =>
  Plan.environment({
    name: "shop",
    spec: specs.environment({ templateRef: { name: "shop" }, source: { branch: "main" }, ...fields }),
    template: specs.template(...components)
  }).pipe(
    Effect.provideService(Client, bench.client),
    Effect.provideService(Settings, bench.settings),
    Effect.map(Plan.lines),
    Effect.orDie
  )

describe("Plan", () => {
  it.effect("S34: shows what a new environment would have, with secrets masked, and writes nothing", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(3)
      const before = yield* bench.cluster.resourceVersion
      const env = {
        web: {
          NAME: { value: "shown" },
          SMTP: { secretKeyRef: { name: "smtp", key: "password" } },
          PASSWORD: { sliceKeyRef: { component: "db", key: "PASSWORD" } }
        }
      }

      const lines = yield* planned(bench, { env }, [web, db])

      assert.deepStrictEqual(lines, [
        "create Slice of postgres",
        "  for db, of 3",
        "write Secret db-binding",
        "  PASSWORD, URL",
        "write Secret web-env",
        "  BRANCH=main",
        "  NAME=shown",
        "  PASSWORD=<db.PASSWORD>",
        "  SMTP=<Secret smtp/password>",
        "  URL=<db.URL>"
      ])
      assert.strictEqual(yield* bench.cluster.resourceVersion, before)
    }).pipe(Bench.test)
  )

  it.effect("S34, S28: shows what a changed template would keep, remove and refuse", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(3)
      const { record } = yield* bench.bound()

      assert.deepStrictEqual((yield* planned(bench, {}, [db])).slice(0, 2), [`keep Slice ${record}`, "  for db: Bound"])
      assert.deepStrictEqual(yield* planned(bench, {}, [{ name: "web" }]), [
        `remove Slice ${record}`,
        "  of db, with everything that is in it"
      ])
      assert.deepStrictEqual(yield* planned(bench, {}, [{ ...db, name: "database" }]), [
        `refuse Slice ${record}`,
        "  it is of db: name that again, or let database replace it"
      ])
      assert.isTrue(Option.isSome(yield* bench.read(record)))
    }).pipe(Bench.test)
  )

  it.effect("S34, S23: shows every problem instead, with its place, and a template that is not there", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(3)

      const lines = yield* planned(bench, { env: { nope: {} } }, [
        db,
        { name: "web", env: { A: "{{ .Components.db.X }}" } }
      ])
      assert.deepStrictEqual(
        lines.filter((line) => line.startsWith("refuse")),
        ["refuse spec.components[1].env.A:1:4", "refuse spec.env.nope"]
      )
      const missing = yield* Plan.environment({
        name: "shop",
        spec: specs.environment({ templateRef: { name: "none" } })
      }).pipe(
        Effect.provideService(Client, bench.client),
        Effect.provideService(Settings, bench.settings),
        Effect.orDie
      )
      assert.deepStrictEqual(Plan.lines(missing), [`refuse ${EnvironmentTemplate.kind} none`, "  does not exist"])
    }).pipe(Bench.test)
  )
})
