/** What is told apart in the words of tools, and what of a release belongs to others. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Account from "../src/internal/cd/account.ts"
import { wanted } from "./support/cd/spyHelm.ts"

const user = 'User "system:serviceaccount:env-a:deployer"'
const rows = [
  {
    words: `clusterrolebindings.rbac.authorization.k8s.io "evil" is forbidden: ${user} cannot get resource "clusterrolebindings" in API group "rbac.authorization.k8s.io" at the cluster scope`,
    named: ["clusterrolebindings.rbac.authorization.k8s.io/evil"]
  },
  {
    words: `Error: configmaps "a" is forbidden: ${user} cannot patch resource "configmaps" in API group "" in the namespace "berth-system"`,
    named: ["configmaps/berth-system/a"]
  },
  {
    words: `secrets is forbidden: ${user} cannot list resource "secrets" in API group "" in the namespace "b"; secrets is forbidden: ${user} cannot list resource "secrets" in API group "" in the namespace "b"`,
    named: ["secrets/b"]
  },
  {
    words: `roles.rbac.authorization.k8s.io "big" is forbidden: user "system:serviceaccount:env-a:deployer" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:["*"]}`,
    named: ["roles.rbac.authorization.k8s.io/big"]
  },
  { words: "template: chart/templates/a.yaml:1:2: access is forbidden: no", named: [] }
]

describe("An account", () => {
  it.each(rows)("S32: what an API server refuses is named: $named", ({ named, words }) => {
    assert.deepStrictEqual(Account.refusedBy(words), named)
  })

  it("S32: without an account a refusal is the operator's own, and a failure like any other", () => {
    const words = rows[0]?.words ?? ""

    assert.strictEqual(Account.failure(wanted({}), words)._tag, "Failed")
    assert.strictEqual(Account.failure({ ...wanted({}), account: { name: "a", role: "b" } }, words)._tag, "Forbidden")
  })

  it.effect("S32: is made with its rights, put right, and left alone while it is as it should be", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      const release = { ...wanted({}), account: { name: "deployer", role: "small" } }
      const ref = { name: "deployer", namespace: "default" }
      const ensured = Effect.orDie(Account.ensure(release))
      const bindings = Effect.map(client.get(Builtin.RoleBinding, ref), ({ roleRef, subjects }) => [
        roleRef.name,
        subjects
      ])

      const first = [yield* ensured, yield* ensured]
      yield* client.patch(Builtin.RoleBinding, ref, { type: "merge", patch: { subjects: [] } })
      const mended = [yield* ensured, yield* ensured]
      const other = yield* Effect.orDie(Account.ensure({ ...release, account: { name: "deployer", role: "other" } }))

      assert.deepStrictEqual([first, mended, other], [[true, false], [true, false], true])
      assert.deepStrictEqual(yield* bindings, ["other", [{ kind: "ServiceAccount", ...ref }]])
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
