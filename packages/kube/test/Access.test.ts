import { assert, describe, it } from "@effect/vitest"
import * as Access from "../src/Access.ts"
import * as Builtin from "../src/Builtin.ts"
import * as Cache from "../src/Cache.ts"

describe("Access", () => {
  it("is of a kind, or of a part of it, in one namespace or in all", () => {
    assert.deepStrictEqual(Access.to(Builtin.Job, ["get"], { namespace: "a", subresource: "status" }), {
      group: "batch",
      resource: "jobs/status",
      verbs: ["get"],
      namespace: "a"
    })
    assert.deepInclude(Access.to(Builtin.Job, ["get"]), { resource: "jobs", namespace: undefined })
  })

  const caches = [
    { definition: Cache.define(Builtin.Secret, { namespaces: ["a", "b"] }), namespaces: ["a", "b"], which: "some" },
    { definition: Cache.define(Builtin.Secret), namespaces: [undefined], which: "all" },
    { definition: Cache.define(Builtin.Namespace, { namespaces: ["a"] }), namespaces: [undefined], which: "no" }
  ]
  it.each(caches)("of a cache of $which namespaces is to list and to watch there", ({ definition, namespaces }) => {
    const access = Access.ofCache(definition)

    assert.deepStrictEqual(
      access.map(({ namespace, verbs }) => ({ namespace, verbs })),
      namespaces.map((namespace): Pick<Access.Access, "namespace" | "verbs"> => ({
        namespace,
        verbs: ["list", "watch"]
      }))
    )
  })

  it("is merged by resource and namespace, in one order whatever the order was", () => {
    const some = [
      Access.to(Builtin.Secret, ["delete", "get"]),
      Access.to(Builtin.ConfigMap, ["get"], { namespace: "a" }),
      Access.to(Builtin.Secret, ["list", "get"])
    ]

    const merged = Access.merged(some)

    assert.deepStrictEqual(merged, Access.merged(some.toReversed()))
    assert.deepStrictEqual(
      merged.map(({ resource, verbs }) => ({ resource, verbs })),
      [
        { resource: "secrets", verbs: ["get", "list", "delete"] },
        { resource: "configmaps", verbs: ["get"] }
      ]
    )
  })

  it("to objects of some names is a rule of its own, whatever else may be done with the others", () => {
    const all = [
      Access.to(Builtin.ServiceAccount, ["impersonate"], { names: ["bot"] }),
      Access.to(Builtin.ClusterRole, ["bind"], { names: ["small"] }),
      Access.to(Builtin.ServiceAccount, ["get"])
    ]

    assert.deepStrictEqual(Access.rules(all), [
      { apiGroups: [""], resources: ["serviceaccounts"], resourceNames: ["bot"], verbs: ["impersonate"] },
      { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["get"] },
      {
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["clusterroles"],
        resourceNames: ["small"],
        verbs: ["bind"]
      }
    ])
  })

  it("to everything is not given again for one namespace", () => {
    const all = [
      Access.to(Builtin.Secret, ["get", "list"]),
      Access.to(Builtin.Secret, ["get", "patch"], { namespace: "a" }),
      Access.to(Builtin.Secret, ["list"], { namespace: "b" })
    ]

    assert.deepStrictEqual(Access.rules(all, "a"), [{ apiGroups: [""], resources: ["secrets"], verbs: ["patch"] }])
    assert.deepStrictEqual(Access.rules(all, "b"), [])
    assert.deepStrictEqual(Access.rules(all), [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] }])
  })

  it("shares a rule only with a resource of the same group and verbs", () => {
    const all = [
      Access.to(Builtin.Secret, ["get"]),
      Access.to(Builtin.ConfigMap, ["get"]),
      Access.to(Builtin.Pod, ["list"]),
      Access.to(Builtin.Job, ["get"])
    ]

    assert.deepStrictEqual(Access.rules(all), [
      { apiGroups: [""], resources: ["configmaps", "secrets"], verbs: ["get"] },
      { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
      { apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] }
    ])
  })
})
