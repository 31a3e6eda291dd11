import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { at, core, scenario } from "./support/rawApi.ts"

const rbac = "/apis/rbac.authorization.k8s.io/v1"
const ada = { username: "ada", groups: ["team", "system:authenticated"] }

describe("Access to the embedded cluster", () => {
  it.effect("T3: with RBAC, a token may do what its bindings say", () =>
    scenario(
      (api) =>
        Effect.gen(function* () {
          const admin = { token: "root" }
          const asked = { token: "ada" }
          const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] }]
          const none = yield* api.get(`${core}/secrets`, asked)
          yield* api.post(`${rbac}/namespaces/default/roles`, { metadata: { name: "r" }, rules }, admin)
          yield* api.post(
            `${rbac}/namespaces/default/rolebindings`,
            {
              metadata: { name: "b" },
              roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
              subjects: [{ kind: "Group", name: "team", apiGroup: "rbac.authorization.k8s.io" }]
            },
            admin
          )
          const read = yield* api.get(`${core}/secrets`, asked)
          const written = yield* api.post(`${core}/secrets`, { metadata: { name: "s" } }, asked)
          const elsewhere = yield* api.get("/api/v1/secrets", asked)
          const beside = yield* api.get("/api/v1/namespaces/kube-public/secrets", asked)
          const discovered = yield* api.get("/apis", asked)

          assert.deepStrictEqual(
            [none, read, written, elsewhere, beside, discovered].map(({ status }) => status),
            [403, 200, 403, 403, 403, 200]
          )
          assert.strictEqual(
            written.at("message"),
            'secrets is forbidden: User "ada" cannot create resource "secrets" in API group "" in the namespace "default"'
          )
        }),
      { rbac: true, tls: false, users: { ada, root: { username: "root", groups: ["system:masters"] } } }
    )
  )

  it.effect("T3: with RBAC, nobody is anybody, and an unknown token is refused with or without it", () =>
    Effect.gen(function* () {
      const anonymous = yield* scenario((api) => api.get(`${core}/secrets`), { rbac: true, tls: false })
      const unknown = yield* scenario((api) => api.get(`${core}/secrets`, { token: "nobody's" }))

      assert.deepStrictEqual([anonymous.status, unknown.status], [403, 401])
    })
  )

  it.effect("T3, T8: the token of a service account tells who it is, until it expires or the account goes", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const account = `${core}/serviceaccounts/bot`
        const whoami = (token: unknown) =>
          api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, { token: String(token) })
        const issue = api.post(`${account}/token`, { spec: { expirationSeconds: 600 } })
        yield* api.post(`${core}/serviceaccounts`, { metadata: { name: "bot" } })

        const first = yield* issue
        const known = yield* whoami(first.at("status.token"))
        yield* TestClock.adjust("600 seconds")
        const late = yield* whoami(first.at("status.token"))
        const second = yield* issue
        yield* api.delete(account)
        yield* api.post(`${core}/serviceaccounts`, { metadata: { name: "bot" } })
        const orphaned = yield* whoami(second.at("status.token"))
        const short = yield* api.post(`${account}/token`, { spec: { expirationSeconds: 599 } })

        assert.strictEqual(known.at("status.userInfo.username"), "system:serviceaccount:default:bot")
        assert.deepStrictEqual([late.status, orphaned.status, short.status], [401, 401, 422])
      })
    )
  )

  it.effect("T3: whoever may impersonate acts as somebody else", () =>
    scenario(
      (api, { url }) =>
        Effect.gen(function* () {
          const as = (token: string) =>
            Effect.promise(() =>
              fetch(`${url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
                method: "POST",
                body: "{}",
                headers: { authorization: `Bearer ${token}`, "impersonate-user": "eve", "impersonate-group": "team" }
              }).then((response) => response.json())
            )
          const allowed = yield* as("root")
          const refused = yield* as("ada")

          assert.deepStrictEqual(at(allowed, "status.userInfo"), {
            username: "eve",
            groups: ["team", "system:authenticated"]
          })
          assert.strictEqual(at(refused, "code"), 403)
        }),
      { rbac: true, tls: false, users: { ada, root: { username: "root", groups: ["system:masters"] } } }
    )
  )

  it.effect("T3: a right to act for service accounts of one name, in any namespace, is one for no others", () =>
    scenario(
      (api, { url }) =>
        Effect.gen(function* () {
          const admin = { token: "root" }
          const actor = {
            apiGroups: [""],
            resources: ["serviceaccounts"],
            resourceNames: ["bot"],
            verbs: ["impersonate"]
          }
          const subjects = [{ kind: "Group", name: "team", apiGroup: "rbac.authorization.k8s.io" }]
          const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "actor" }
          yield* api.post(`${rbac}/clusterroles`, { metadata: { name: "actor" }, rules: [actor] }, admin)
          yield* api.post(`${rbac}/clusterrolebindings`, { metadata: { name: "actor" }, roleRef, subjects }, admin)
          const as = (user: string) =>
            Effect.promise(() =>
              fetch(`${url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
                method: "POST",
                body: "{}",
                headers: { authorization: "Bearer ada", "impersonate-user": user }
              }).then((response) => response.json())
            )
          const allowed = yield* as("system:serviceaccount:shop:bot")
          const refused = yield* Effect.forEach(["system:serviceaccount:shop:admin", "bot"], as)

          assert.deepStrictEqual(at(allowed, "status.userInfo"), {
            username: "system:serviceaccount:shop:bot",
            groups: ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"]
          })
          assert.deepStrictEqual(
            refused.map((each) => at(each, "code")),
            [403, 403]
          )
          assert.include(
            String(at(refused[0], "message")),
            'cannot impersonate resource "serviceaccounts" in API group "" in the namespace "shop"'
          )
        }),
      { rbac: true, tls: false, users: { ada, root: { username: "root", groups: ["system:masters"] } } }
    )
  )

  it.effect("T3: reviews answer what a subject may do", () =>
    scenario(
      (api) =>
        Effect.gen(function* () {
          const reviews = "/apis/authorization.k8s.io/v1"
          const resourceAttributes = { verb: "get", resource: "pods", namespace: "default" }
          const own = yield* api.post(
            `${reviews}/selfsubjectaccessreviews`,
            { spec: { resourceAttributes } },
            { token: "ada" }
          )
          const others = yield* api.post(
            `${reviews}/subjectaccessreviews`,
            { spec: { resourceAttributes, user: "x", groups: ["system:masters"] } },
            { token: "root" }
          )
          const token = yield* api.post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            { spec: { token: "ada" } },
            { token: "root" }
          )

          assert.deepStrictEqual(
            [own.at("status.allowed"), others.at("status.allowed"), token.at("status.user.username")],
            [false, true, "ada"]
          )
        }),
      { rbac: true, tls: false, users: { ada, root: { username: "root", groups: ["system:masters"] } } }
    )
  )
})
