/** The quickstart tells the same story on a real API server, and leaves it as it was, however the story ends. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { key, type KubeObject, ref } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Quickstart from "../e2e/support/quickstart.ts"

const kubeconfig = process.env["BERTH_TEST_KUBECONFIG"] ?? ""
const args = ["--kubeconfig", kubeconfig]
const patience = 240_000

const node = ResourceType.make({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  scope: "Cluster"
})

/** Whatever the story or the operator could make; beside these there are only Events, which tell of what was. */
const types: ReadonlyArray<ResourceType.ResourceType> = [
  Builtin.CustomResourceDefinition,
  Builtin.Namespace,
  node,
  Builtin.ConfigMap,
  Builtin.Job,
  Builtin.Lease,
  Builtin.Pod,
  Builtin.Role,
  Builtin.RoleBinding,
  Builtin.Secret,
  Builtin.Service,
  Builtin.ServiceAccount
]

/** The control plane renews Leases of its own, and other suites' namespaces may still be on their way out. */
const isOthers = ({ metadata: { name, namespace = "" } }: KubeObject): boolean =>
  [name, namespace].some(
    (each) => each.startsWith("kube-") || each.startsWith("berth-conformance") || each.startsWith("berth-test")
  )

const present = Effect.gen(function* () {
  const client = yield* Client
  const lists = yield* Effect.forEach(types, (type) =>
    Effect.map(client.list<KubeObject>(type), ({ items }) =>
      items.filter((object) => !isOthers(object)).map((object) => `${type.kind} ${key(ref(object))}`)
    )
  )
  return lists.flat().toSorted()
})

/** Runs it, and looks whether the cluster is as it was. */
const unchanged = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* present
    yield* body
    assert.deepStrictEqual(yield* present, before)
  }).pipe(Effect.provide(Cluster.client), Effect.provide(Cluster.existing({ kubeconfig })))

const ends = (
  name: string,
  when: string | RegExp,
  how: (run: Quickstart.Quickstart) => Effect.Effect<void>,
  code: number
) =>
  it.live(
    `T1, T11: takes away what it made: ${name}`,
    () =>
      unchanged(
        Effect.gen(function* () {
          const quickstart = yield* Quickstart.start({ args })
          yield* quickstart.says(when)

          yield* how(quickstart)

          const ended = yield* quickstart.ended
          assert.strictEqual(ended.code, code, quickstart.output() + quickstart.errors())
          assert.match(quickstart.output(), /done: remove everything from the cluster/u)
          yield* quickstart.gone("5 seconds")
        })
      ),
    patience
  )

const ctrlC = ({ signal }: Quickstart.Quickstart) => signal("SIGINT", "group")

describe("The quickstart", () => {
  it.live(
    "T1: passes on a real API server, and takes away what it made",
    () =>
      unchanged(
        Effect.gen(function* () {
          const quickstart = yield* Quickstart.start({ args })

          const { code } = yield* quickstart.ended

          assert.strictEqual(code, 0, quickstart.output() + quickstart.errors())
          assert.include(quickstart.output(), "done: the database and the login of feature-a are gone from the server")
          yield* quickstart.gone("5 seconds")
        })
      ),
    patience
  )

  ends("Ctrl-C while the operator starts", "done: apply the kinds", ctrlC, 130)
  ends("Ctrl-C while the Jobs run", /slice of feature-[ab]: Provisioning/u, ctrlC, 130)
  ends("Ctrl-C in the third act", "environment feature-a: Terminating", ctrlC, 130)
  ends("the operator dies while the Jobs run", /slice of feature-[ab]: Provisioning/u, (run) => run.killOperator, 1)

  it.live(
    "T11: of a run that was killed, the next one says what is left, and --remove takes it away",
    () =>
      unchanged(
        Effect.gen(function* () {
          const killed = yield* Quickstart.start({ args })
          yield* killed.says(/slice of feature-[ab]: Provisioning/u)
          yield* killed.signal("SIGKILL", "group")
          yield* killed.gone("20 seconds")

          const refused = yield* Quickstart.start({ args })
          assert.strictEqual((yield* refused.ended).code, 1)
          assert.include(
            refused.errors(),
            "This cluster still has the namespace berth-system of an earlier quickstart."
          )
          assert.include(refused.errors(), `npm run quickstart -- --kubeconfig ${kubeconfig} --remove`)

          const removed = yield* Quickstart.start({ args: [...args, "--remove"] })
          assert.strictEqual((yield* removed.ended).code, 0, removed.errors())
        })
      ),
    patience
  )

  it.live(
    "leaves a cluster alone that has a Berth of its own",
    () =>
      unchanged(
        Effect.gen(function* () {
          const client = yield* Client
          const name = "berth-shared"
          yield* Effect.acquireRelease(client.create(Builtin.Namespace, { metadata: { name } }), () =>
            Effect.ignore(client.delete(Builtin.Namespace, { name }))
          )
          const inhabited = yield* present

          const quickstart = yield* Quickstart.start({ args })
          assert.strictEqual((yield* quickstart.ended).code, 1)
          assert.include(quickstart.errors(), "This cluster has the namespace berth-shared already.")
          const removal = yield* Quickstart.start({ args: [...args, "--remove"] })
          assert.strictEqual((yield* removal.ended).code, 0, removal.errors())

          assert.deepStrictEqual(yield* present, inhabited)
        }).pipe(Effect.scoped, Effect.andThen(Await.gone(Builtin.Namespace, { name: "berth-shared" })))
      ),
    patience
  )
})
