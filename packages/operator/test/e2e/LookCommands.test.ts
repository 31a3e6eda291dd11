import { Client } from "@berth/kube/Client"
import { Environment } from "@berth/shared-components/Environment"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, layer, vi } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as berth from "../support/berth.ts"
import * as operator from "../support/operator.ts"

// It starts processes, which a busy machine has to wait for.
vi.setConfig({ testTimeout: 60_000 })

const namespace = "berth-system"

const job = { image: "berth", script: "SELECT 1" }
const provider = {
  external: { secretRef: { name: "pg" } },
  provision: job,
  deprovision: job,
  binding: { URL: "postgres://{{ .Host }}/{{ .Slice.Id }}", PASSWORD: "{{ .Env.GeneratedSecret }}" }
}

const environment = (component: string) => `
apiVersion: berth.dev/v1alpha1
kind: Environment
metadata: { name: feature-x, namespace: ${namespace} }
spec:
  templateRef: { name: shop }
---
apiVersion: berth.dev/v1alpha1
kind: EnvironmentTemplate
metadata: { name: shop, namespace: ${namespace} }
spec:
  ingress: { domain: example.test }
  components:
    - name: db
      sharedComponentRef: { name: ${component} }
    - name: web
      env: { URL: "{{ .Components.db.URL }}" }
`

/** A cluster in which nobody does anything: what these commands say is what they have read. */
class Scene extends Context.Service<
  Scene,
  {
    readonly command: (args: ReadonlyArray<string>, stdin?: string) => Effect.Effect<berth.Ended>
    readonly version: Effect.Effect<string>
  }
>()("Scene") {
  static readonly layer = Layer.effect(
    Scene,
    Effect.gen(function* () {
      const client = yield* Client
      const file = yield* operator.kubeconfig
      yield* operator.installed
      yield* client.create(SharedComponentProvider, { metadata: { name: "postgres", namespace }, spec: provider })
      yield* client.create(SharedComponent, {
        metadata: { name: "postgres", namespace },
        spec: { providerRef: { name: "postgres" }, maxConsumers: 3 }
      })
      yield* client.create(Environment, {
        metadata: { name: "feature-a", namespace },
        spec: { templateRef: { name: "missing" } }
      })
      return Scene.of({
        command: (args, stdin) => berth.run(args, { env: { KUBECONFIG: file }, stdin }),
        version: client.list(Environment).pipe(
          Effect.map(({ resourceVersion }) => resourceVersion ?? ""),
          Effect.orDie
        )
      })
    })
  ).pipe(Layer.provide(Cluster.embeddedWithClient()))
}

describe("berth plan and berth explain", () => {
  layer(Scene.layer, { excludeTestServices: true })((it) => {
    it.effect("S34: berth plan says what would be made of manifests that are not there yet, and writes nothing", () =>
      Effect.gen(function* () {
        const { command, version } = yield* Scene
        const before = yield* version

        const ended = yield* command(["plan", "-f", "-"], environment("postgres"))

        assert.deepStrictEqual(ended, {
          code: 0,
          stderr: "",
          stdout: [
            "create Slice of postgres",
            "  for db, of 3",
            "write Secret db-binding",
            "  PASSWORD, URL",
            "write Secret web-env",
            "  URL=<db.URL>",
            ""
          ].join("\n")
        })
        assert.strictEqual(yield* version, before)
      })
    )

    it.effect(
      "S34: berth plan ends with 1 where it would be refused, with 2 where it cannot be read, and with 3 where nobody could look",
      () =>
        Effect.gen(function* () {
          const { command } = yield* Scene

          const nowhere = ["--kubeconfig", "missing"]
          const [refused, broken, none, other, unseen] = yield* Effect.all([
            command(["plan", "-f", "-"], environment("mysql")),
            command(["plan", "-f", "-"], "a: b: c"),
            command(["plan", "-f", "-"], "kind: ConfigMap"),
            command(["plan", "-f", "-"], environment("postgres").replace("name: shop }\n---", "name: store }\n---")),
            command(["plan", "-f", "-", ...nowhere], environment("postgres"))
          ])

          assert.deepInclude(refused, { code: 1, stderr: "" })
          assert.match(refused.stdout, /^refuse spec\.components\[0\]\.sharedComponentRef.*\n {2}.*mysql/u)
          assert.deepStrictEqual(broken, { code: 2, stdout: "", stderr: "berth: -: is not YAML\n" })
          assert.deepStrictEqual(none, { code: 2, stdout: "", stderr: "berth: -: has to have one Environment\n" })
          assert.strictEqual(unseen.code, 3, unseen.stderr)
          assert.match(other.stderr, /the Environment's template is store, not the shop that is there/u)
        })
    )

    it.effect("S33: berth explain says what an object waits for, and of one that is not there that it is not", () =>
      Effect.gen(function* () {
        const { command } = yield* Scene

        const [found, shared, missing] = yield* Effect.all([
          command(["explain", "env", "feature-a"]),
          command(["explain", "sharedcomponent", "postgres"]),
          command(["explain", "environment", "feature-b"])
        ])

        assert.deepInclude(found, { code: 0, stderr: "" })
        assert.match(found.stdout, /^Environment feature-a/u)
        assert.match(shared.stdout, /^SharedComponent postgres.*0 slices of 3, 0 waiting/u)
        assert.deepInclude(missing, { code: 1, stdout: "" })
        assert.match(missing.stderr, /^berth: .*feature-b.*not/u)
      })
    )
  })
})
