import { assert, describe, it } from "@effect/vitest"
import {
  ApiextensionsV1Api,
  BatchV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  Watch
} from "@kubernetes/client-node"
import { Effect } from "effect"
import * as Cluster from "../src/Cluster.ts"
import { at, widget, widgets } from "./support/rawApi.ts"

const config = Effect.map(Cluster.Cluster, ({ kubeconfig }) => {
  const loaded = new KubeConfig()
  loaded.loadFromString(kubeconfig)
  return loaded
})

describe("client-node on the embedded cluster", () => {
  it.live("T2: reads, writes and applies built-in and custom kinds", () =>
    Effect.gen(function* () {
      const loaded = yield* config
      const core = loaded.makeApiClient(CoreV1Api)
      const objects = KubernetesObjectApi.makeApiClient(loaded)
      const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } }

      const result = yield* Effect.promise(async () => {
        const namespace = "default"
        await core.createNamespacedSecret({ namespace, body: { metadata: { name: "s" }, stringData: { a: "b" } } })
        const secret = await core.readNamespacedSecret({ namespace, name: "s" })
        const job = await loaded
          .makeApiClient(BatchV1Api)
          .createNamespacedJob({ namespace, body: { metadata: { name: "j" }, spec: { template } } })
        const crds = loaded.makeApiClient(ApiextensionsV1Api)
        await crds.createCustomResourceDefinition({ body: widgets({ "x-kubernetes-preserve-unknown-fields": true }) })
        const made = await objects.create({ ...widget("w", { a: 1 }), metadata: { name: "w", namespace } })
        const missing = await core.readNamespacedSecret({ namespace, name: "none" }).catch((cause) => cause.code)
        return { data: secret.data, backoff: job.spec?.backoffLimit, made: at(made, "metadata.uid"), missing }
      })

      assert.deepInclude(result, { data: { a: "Yg==" }, backoff: 6, missing: 404 })
      assert.isString(result.made)
    }).pipe(Effect.provide(Cluster.embedded()))
  )

  it.live("T2: watches, over TLS and with a token", () =>
    Effect.gen(function* () {
      const loaded = yield* config
      const core = loaded.makeApiClient(CoreV1Api)
      const seen = Effect.callback<string>((resume, signal) => {
        const started = new Watch(loaded).watch(
          "/api/v1/namespaces/default/configmaps",
          { fieldSelector: "metadata.name=a" },
          (type, object) => resume(Effect.succeed(`${type} ${object.metadata.name}`)),
          () => undefined
        )
        signal.addEventListener("abort", () => void started.then((controller) => controller.abort()))
        const create = () => core.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name: "a" } } })
        void started.then(create)
      })

      assert.strictEqual(yield* seen, "ADDED a")
    }).pipe(Effect.provide(Cluster.embedded({ rbac: true })))
  )
})
