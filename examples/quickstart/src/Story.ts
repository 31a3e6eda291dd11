/** What the quickstart shows, act by act. Each act proves what it claims. */
import { Client } from "@berth/kube/Client"
import { Environment } from "@berth/shared-components/Environment"
import { Effect, Option } from "effect"
import * as DatabaseProvider from "./DatabaseProvider.ts"
import * as Manifests from "./Manifests.ts"
import * as Proof from "./Proof.ts"
import * as Seen from "./Seen.ts"
import { managementNamespace } from "./Stage.ts"
import { Timeline } from "./Timeline.ts"

/** One workload, two environments, a slice each. */
export const twoEnvironments = Effect.fn("Story.twoEnvironments")(function* () {
  const timeline = yield* Timeline
  yield* timeline.step(
    "apply the provider, its instance, the template and two environments",
    Effect.forEach(["provider.yaml", "shared-component.yaml", "template.yaml", "environments.yaml"], Manifests.apply, {
      discard: true
    })
  )
  yield* timeline.step(
    "each environment gets a database and a login, made by a Job",
    Effect.forEach(["feature-a", "feature-b"], (name) => Seen.environment(name, `${name} being Ready`, Seen.isReady), {
      concurrency: "unbounded",
      discard: true
    })
  )
})

/** Each gets into its own database, and into no other. */
export const isolation = Effect.fn("Story.isolation")(function* () {
  const timeline = yield* Timeline
  const a = yield* Proof.login("feature-a")
  const b = yield* Proof.login("feature-b")
  yield* timeline.step(
    "each binding logs in and writes",
    Effect.forEach([a, b], Proof.writes, { concurrency: "unbounded", discard: true })
  )
  yield* timeline.step(
    "the login of feature-a is refused at the database of feature-b",
    Effect.tap(Proof.refused(a, b.database), (code) =>
      timeline.note(`PostgreSQL says ${code}: permission denied for database`)
    )
  )
  return { a, b }
})

/** A third one waits for a place, and gets the one that the first gives up. */
export const succession = Effect.fn("Story.succession")(function* (first: Proof.Login) {
  const timeline = yield* Timeline
  const client = yield* Client
  yield* timeline.step(
    "a third environment waits, since maxConsumers is 2",
    Effect.andThen(
      Manifests.apply("third-environment.yaml"),
      Seen.environment("feature-c", "feature-c waiting as number 1 in line", (found) =>
        Option.exists(found, (environment) => Seen.positionOf(environment) === 1)
      )
    )
  )
  yield* timeline.step(
    "feature-a is deleted, and feature-c gets its place",
    Effect.andThen(
      client.delete(Environment, { name: "feature-a", namespace: managementNamespace }),
      Effect.all(
        [
          Seen.environment("feature-a", "feature-a being gone", Option.isNone),
          Seen.environment("feature-c", "feature-c being Ready", Seen.isReady)
        ],
        { concurrency: "unbounded", discard: true }
      )
    )
  )
  yield* timeline.step("the database and the login of feature-a are gone from the server", Proof.gone(first))
  const c = yield* Proof.login("feature-c")
  yield* timeline.step("the binding of feature-c logs in and writes", Proof.writes(c))
})

/** Databases of another sort: made by a database provider, without a Job, for environments that are there already. */
export const otherDatabases = Effect.fn("Story.otherDatabases")(function* (
  provider: DatabaseProvider.DatabaseProvider
) {
  const timeline = yield* Timeline
  yield* timeline.step(
    "a database provider gets a server, and the operator a token for it",
    DatabaseProvider.introduce(provider)
  )
  yield* timeline.step(
    "the template gets orders: a database of the provider each, without a Job",
    Effect.andThen(
      Manifests.apply("template-with-orders.yaml"),
      Effect.forEach(
        ["feature-b", "feature-c"],
        (name) => Seen.environment(name, `${name} having its orders`, Seen.hasComponent("orders")),
        { concurrency: "unbounded", discard: true }
      )
    )
  )
  const b = yield* Proof.loginOf("orders", "feature-b")
  const c = yield* Proof.loginOf("orders", "feature-c")
  yield* timeline.step(
    "each new binding logs in and writes, and is refused at the other's",
    Effect.andThen(
      Effect.forEach([b, c], Proof.writes, { concurrency: "unbounded", discard: true }),
      Proof.refused(b, c.database)
    )
  )
})
