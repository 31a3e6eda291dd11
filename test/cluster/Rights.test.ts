/** What a program may do is what a real API server says: a right that is missing is named, and missed no longer than it is missing. */
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import * as Client from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import * as Controller from "@berth/kube/Controller"
import type { Crd } from "@berth/kube/Crd"
import * as Health from "@berth/kube/Health"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Metrics from "@berth/kube/Metrics"
import * as Operator from "@berth/kube/Operator"
import * as Requeue from "@berth/kube/Requeue"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Watch from "@berth/kube/Watch"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger, Metric, Option, Schedule } from "effect"
import { parseAllDocuments } from "yaml"
import * as berth from "../../packages/operator/test/support/berth.ts"
import * as Markdown from "../support/markdown.ts"
import * as Accounts from "./support/accounts.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
if (candidate === undefined) console.warn(`${Clusters.variable} is not set: no rights are tried on a real API server`)
const cluster = candidate?.layer ?? Cluster.embeddedWithClient()

const soon = Schedule.spaced("50 millis")
const configMaps = (...verbs: Array<string>): Accounts.Rule => ({ apiGroups: [""], resources: ["configmaps"], verbs })

/** The ready checks that do not pass, in words. */
const problems = Effect.gen(function* () {
  const { report } = yield* Health.Health
  const { checks } = yield* report("ready")
  return checks.flatMap(({ problem }) => Option.toArray(problem))
})

const failures = (verb: string) =>
  Effect.map(
    Metric.value(Metric.withAttributes(Metrics.cacheFailures, { resource: "configmaps", verb, reason: "Forbidden" })),
    ({ count }) => count
  )

const guide = "docs/guides/operator.md"
const account = { name: "berth-operator", namespace: "berth-system" }

/** The kinds of what the guide installs, in the order in which they are needed. */
const installed: Readonly<Record<string, ResourceType>> = {
  Namespace: Builtin.Namespace,
  ServiceAccount: Builtin.ServiceAccount,
  ClusterRole: Builtin.ClusterRole,
  ClusterRoleBinding: Builtin.ClusterRoleBinding,
  Role: Builtin.Role,
  RoleBinding: Builtin.RoleBinding
}

/** Everything but the operator itself, which runs as a process here. */
const manifests = (): ReadonlyArray<KubeObject> =>
  Markdown.blocks(guide)
    .filter(({ heading, language }) => heading === "Install" && language === "yaml")
    .flatMap(({ text }): ReadonlyArray<KubeObject> => parseAllDocuments(text).map((document) => document.toJSON()))
    .filter(({ kind }) => kind in installed)

const typeOf = ({ kind }: KubeObject) => installed[kind] ?? Builtin.Namespace
const apply = (object: KubeObject) =>
  Client.Client.use((client) => client.apply(typeOf(object), object, { force: true }))

/** Applies them, and takes them away with the scope: at once, since each namespace takes seconds. */
const present = (objects: ReadonlyArray<KubeObject>) =>
  Effect.acquireRelease(Effect.forEach(objects, apply, { discard: true }), () =>
    Effect.forEach(
      objects,
      (object) => {
        const ref = { name: object.metadata.name, namespace: object.metadata.namespace }
        const removed = Client.Client.use((client) => client.delete(typeOf(object), ref))
        return Effect.ignore(Effect.andThen(removed, Await.gone(typeOf(object), ref)))
      },
      { concurrency: "unbounded", discard: true }
    )
  )

/** The same without the right to Secrets. */
const withoutSecrets = (role: Builtin.ClusterRole): Builtin.ClusterRole => ({
  ...role,
  rules: (role.rules ?? []).filter(({ resources }) => !resources?.includes("secrets"))
})

/** The kinds as `berth crds` prints them. */
const definitions = Effect.gen(function* () {
  const { stdout } = yield* berth.run(["crds"])
  const found: ReadonlyArray<Crd> = parseAllDocuments(stdout).map((document) => document.toJSON())
  yield* Effect.forEach(found, Clusters.definition, { discard: true })
})

const startOperator = Effect.gen(function* () {
  const operator = yield* berth.start([
    "run",
    "--kubeconfig",
    yield* Accounts.kubeconfig(account),
    "--listen",
    "127.0.0.1:0"
  ])
  const [, address = ""] = yield* operator.says(/health and metrics are on ([^\s"]+)/u)
  const read = (path: string) =>
    Effect.tryPromise(async () => {
      const response = await fetch(`http://${address}${path}`)
      return { isOk: response.ok, text: await response.text() }
    }).pipe(
      // A connection that was kept may be closed at the moment in which it is used again.
      Effect.retry({ times: 5, schedule: soon })
    )
  return { operator, read }
})

/** Reads until the answer is so. Where it never is, what was answered and what the operator said tell why. */
const until = (
  { operator, read }: Effect.Success<typeof startOperator>,
  path: string,
  so: (answer: { readonly isOk: boolean; readonly text: string }) => boolean
) => {
  let last = ""
  return read(path).pipe(
    Effect.tap(({ text }) => Effect.sync(() => (last = text))),
    Effect.repeat({ until: so, schedule: soon }),
    Effect.timeoutOrElse({
      duration: "45 seconds",
      orElse: () => Effect.die(new Error(`${path} says: ${last}\nThe operator said: ${operator.output()}`))
    })
  )
}

describe.skipIf(candidate === undefined)("On a real API server", () => {
  it.live("K20: a right that is missing is named by kind and verb, and the controller goes on once it is given", () =>
    Effect.gen(function* () {
      const namespace = yield* Clusters.namespace
      const reader = { name: "reader", namespace }
      yield* Accounts.create(reader, [configMaps("get")])
      const { connection } = yield* Cluster.Cluster
      const own = { ...connection, impersonate: { user: `system:serviceaccount:${namespace}:reader` } }
      const logged: Array<string> = []
      const reconciled = yield* Deferred.make<string>()
      const reads = Controller.make({
        name: "reads",
        watches: [Watch.on(Cache.define(Builtin.ConfigMap, { namespaces: [namespace] }))],
        reconcile: ({ name }) => Effect.as(Deferred.succeed(reconciled, name), Requeue.none)
      })
      yield* Operator.run([reads], { grace: 0 }).pipe(
        Effect.provide(Caches.layer),
        Effect.provide(Layer.fresh(Client.layerFromConnection(own))),
        Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])),
        Effect.forkScoped
      )

      const [problem = ""] = yield* Effect.repeat(problems, {
        until: (found) => found.some((each) => each.includes("Forbidden")),
        schedule: soon
      })
      const [, verb = ""] = /^cannot (\w+) /u.exec(problem) ?? []
      const counted = yield* failures(verb)
      yield* Accounts.allow(reader, [configMaps("get", "list", "watch")])
      yield* Deferred.await(reconciled)

      assert.match(problem, /^cannot (?:list|watch) configmaps: Forbidden in the namespace \S+$/u)
      assert.include(logged.join("\n"), problem)
      assert.isAbove(counted, 0)
      assert.deepStrictEqual(yield* problems, [])
    }).pipe(Effect.scoped, Effect.provide(Health.Health.layer), Effect.provide(cluster))
  )

  it.live(
    "K20: the operator names the right of its guide that it lacks, and works with exactly those of its guide",
    () =>
      Effect.gen(function* () {
        const client = yield* Client.Client
        yield* present(manifests())
        yield* definitions
        const whole = yield* client.get(Builtin.ClusterRole, { name: account.name })
        yield* client.update(Builtin.ClusterRole, withoutSecrets(whole))
        const started = yield* startOperator
        const { operator, read } = started
        const named = yield* until(started, "/readyz", ({ text }) => text.includes("secrets: Forbidden"))
        const { text: metrics } = yield* read("/metrics")

        yield* client.patch(
          Builtin.ClusterRole,
          { name: account.name },
          { type: "merge", patch: { rules: whole.rules ?? [] } }
        )
        yield* until(started, "/readyz", ({ isOk }) => isOk)
        const before = operator.output().length
        const ref = { name: "alone", namespace: account.namespace }
        const components = [{ name: "app", env: { GREETING: "hello {{ .Env.Name }}" } }]
        yield* client.create(EnvironmentTemplate, { metadata: ref, spec: { components } })
        yield* client.create(Environment, { metadata: ref, spec: { templateRef: { name: "alone" } } })
        yield* Await.until(Environment, ref, ({ metadata, status }) =>
          Conditions.isTrue(status?.conditions, "Ready", metadata.generation)
        )
        yield* client.delete(Environment, ref)
        yield* Await.gone(Environment, ref)
        yield* client.delete(EnvironmentTemplate, ref)
        yield* Await.gone(EnvironmentTemplate, ref)

        assert.isFalse(named.isOk)
        assert.match(named.text, /cannot (?:list|watch) secrets: Forbidden/u)
        assert.match(metrics, /^berth_cache_failures_total\{[^}]*resource="secrets"[^}]*\} [1-9]/mu)
        assert.match(operator.output(), /cannot (?:list|watch) secrets: Forbidden/u)
        assert.notMatch(operator.output().slice(before), /forbidden/iu)
      }).pipe(Effect.scoped, Effect.provide(cluster))
  )
})
