import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as EmbeddedCluster from "@berth/testing/EmbeddedCluster"
import { assert, describe } from "@effect/vitest"
import { Context, Effect, Layer, Option, Schedule } from "effect"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import { db, management, started, story, web } from "./support/Berth.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")
const target = { kubeconfigSecretRef: { name: "remote", key: "kubeconfig" } }

const elsewhere = Effect.gen(function* () {
  const berth = yield* started
  const cluster = yield* Effect.orDie(EmbeddedCluster.make({ tls: true }))
  const context = yield* Layer.build(Layer.fresh(Client.layerFromConnection(cluster.connection)))
  const remote = Context.get(context, Client.Client)
  const kubeconfig = (labels: Readonly<Record<string, string>> = { "berth.dev/for-environments": "true" }) =>
    berth.exists(Builtin.Secret, {
      metadata: { name: "remote", namespace: management, labels },
      data: { kubeconfig: base64(cluster.kubeconfig) }
    })
  const secret = (namespace: string, name: string) =>
    Effect.map(Effect.option(remote.get(Builtin.Secret, { name, namespace })), (found) =>
      Option.getOrUndefined(Option.map(found, ({ data }) => data))
    )
  const isThere = (namespace: string) =>
    Effect.map(Effect.option(remote.get(Builtin.Namespace, { name: namespace })), Option.isSome)
  return { ...berth, kubeconfig, remote, secret, isThere }
})

const app = { name: "app", helm: { oci: "oci://registry.example.test/app", version: "1" }, dependsOn: ["web"] }

describe("An environment on another cluster", () => {
  story("S29: has its namespace, Secrets and charts there, its slice here, and leaves nothing on either", function* () {
    const {
      binding,
      client,
      edit,
      environment,
      gone,
      isThere,
      kubeconfig,
      operator,
      ready,
      remove,
      secret,
      slices,
      template
    } = yield* elsewhere
    yield* kubeconfig()
    yield* template("shop", [app, web, db, { name: "old", env: { A: "b" } }])

    yield* environment("a", { target })
    yield* ready(Environment, "a")
    const [slice] = yield* slices("a")
    const namespace = slice?.spec.consumer.namespace ?? ""
    const { URL = "" } = yield* binding("a")
    const there = [
      yield* secret(namespace, "web-env"),
      yield* secret(namespace, "db-binding"),
      yield* secret(namespace, "old-env")
    ]
    const here = yield* Effect.option(client.get(Builtin.Secret, { name: "web-env", namespace }))
    yield* edit(EnvironmentTemplate, "shop", { spec: { components: [app, web, db] } })
    yield* Effect.repeat(secret(namespace, "old-env"), {
      until: (left) => left === undefined,
      schedule: Schedule.spaced("50 millis")
    })
    const wanted = operator.charts.wanted("app")
    yield* remove(Environment, "a")
    yield* gone(Environment, "a")

    assert.deepStrictEqual(there[0], { DATABASE_URL: base64(URL) })
    assert.strictEqual(there[1]?.["URL"], base64(URL))
    assert.deepStrictEqual(there[2], { A: base64("b") })
    assert.isTrue(Option.isNone(here))
    assert.strictEqual(wanted?.namespace, namespace)
    assert.isFalse(yield* isThere(namespace))
    assert.deepStrictEqual(operator.charts.log(), ["deploy app", "remove app"])
  })

  story("S29, S32: a kubeconfig that is not for environments is not used, and is once it is labelled", function* () {
    const { environment, kubeconfig, ready, says, template } = yield* elsewhere
    yield* kubeconfig({})
    yield* template("shop", [{ name: "web", env: { A: "b" } }])

    yield* environment("a", { target })
    yield* says(Environment, "a", "target_not_allowed")
    yield* kubeconfig()
    yield* ready(Environment, "a")
  })

  story("S29: a variable that lacks its Secret is mended as at home, and nobody moves", function* () {
    const { client, environment, exists, kubeconfig, ready, says, template } = yield* elsewhere
    yield* kubeconfig()
    yield* template("shop", [{ name: "web" }])
    const env = { web: { KEY: { secretKeyRef: { name: "smtp", key: "key" } } } }

    yield* environment("a", { target, env })
    yield* says(Environment, "a", "secret_missing")
    const metadata = { name: "smtp", namespace: management, labels: { "berth.dev/for-environments": "true" } }
    yield* exists(Builtin.Secret, { metadata, data: { key: base64("k") } })
    yield* ready(Environment, "a")
    const ref = { name: "a", namespace: management }
    const moved = yield* Effect.flip(
      client.patch(Environment, ref, { type: "merge", patch: { spec: { target: null } } })
    ).pipe(Effect.orDie)

    assert.strictEqual(moved._tag, "Invalid")
  })
})
