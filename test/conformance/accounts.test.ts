import { Cluster } from "@berth/testing"
import { Effect, Schedule } from "effect"
import type { Api } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap, gadget, gadgets, path } from "./support/kinds.ts"
import { at, type Json, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const group = "rbac.authorization.k8s.io"
const rbac = `/apis/${group}/v1/namespaces/{ns}`
const tokens = "~/serviceaccounts/operator/token"
const account = "system:serviceaccount:{ns}:operator"

const soon = Schedule.spaced("20 millis")

const rights = Effect.fnUntraced(function* (api: Api, ...rules: ReadonlyArray<object>) {
  const metadata = { name: "operator" }
  yield* api.quietly("POST", "~/serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata })
  yield* api.quietly("POST", `${rbac}/roles`, { apiVersion: `${group}/v1`, kind: "Role", metadata, rules })
  yield* api.quietly("POST", `${rbac}/rolebindings`, {
    apiVersion: `${group}/v1`,
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: group, kind: "Role", name: "operator" },
    subjects: [{ kind: "ServiceAccount", name: "operator", namespace: "{ns}" }]
  })
  // Whoever decides learns of it a moment later.
  yield* Effect.repeat(allowed(api, { verb: "get", resource: "configmaps" }), {
    until: (yes) => yes === true,
    schedule: soon
  })
})

const asked = (api: Api, resourceAttributes: object, spec: object = { user: account }) =>
  api.quietly("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { ...spec, resourceAttributes: { namespace: "{ns}", ...resourceAttributes } }
  })
const allowed = (api: Api, attributes: object, spec?: object): Effect.Effect<Json | undefined> =>
  Effect.map(asked(api, attributes, spec), ({ body }) => at(body, "status.allowed"))

const rule = (resources: ReadonlyArray<string>, verbs: ReadonlyArray<string>, more: object = {}) => ({
  apiGroups: [""],
  resources,
  verbs,
  ...more
})

conform(
  "accounts",
  {
    "T3, T4: a request that nobody allowed is forbidden, in these words": run(function* (api: Api) {
      yield* rights(api, rule(["configmaps"], ["get"]))
      const sent = { as: account }
      yield* api.quietly("POST", "~/configmaps", configMap("a"))
      yield* api.get("~/configmaps/a", sent)
      yield* api.get("~/secrets/a", sent)
      yield* api.get("~/configmaps", sent)
      yield* api.get("~/configmaps?watch=true", sent)
      yield* api.send("POST", "~/configmaps", configMap("b"), sent)
      yield* api.send("PATCH", "~/configmaps/a", { data: {} }, sent)
      yield* api.send("PUT", "~/configmaps/a", configMap("a"), sent)
      yield* api.send("DELETE", "~/configmaps/a", undefined, sent)
      yield* api.send("DELETE", "~/configmaps", undefined, sent)
      yield* api.get("/api/v1/configmaps", sent)
      yield* api.get("/api/v1/nodes/n", sent)
      yield* api.get("/apis/apps/v1/namespaces/{ns}/deployments/d/scale", sent)
    }),
    "T3, T4: rights of a subresource, of a name, and of everything": run(function* (api: Api) {
      yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }))
      yield* rights(
        api,
        rule(["configmaps"], ["get", "update"], { resourceNames: ["a"] }),
        rule(["configmaps"], ["get", "create"]),
        { apiGroups: ["{group}"], resources: ["gadgets/status"], verbs: ["*"] },
        { apiGroups: ["*"], resources: ["*/scale"], verbs: ["get"] }
      )
      const sent = { as: account }
      yield* api.quietly("POST", path, gadget("g"))
      const tried = Effect.fnUntraced(function* (what: string, attributes: object) {
        yield* api.note(what, (yield* allowed(api, attributes)) ?? null)
      })
      yield* tried("update a", { verb: "update", resource: "configmaps", name: "a" })
      yield* tried("update b", { verb: "update", resource: "configmaps", name: "b" })
      yield* tried("update any", { verb: "update", resource: "configmaps" })
      yield* tried("create", { verb: "create", resource: "configmaps" })
      yield* tried("a status", { verb: "patch", group: "{group}", resource: "gadgets", subresource: "status" })
      yield* tried("the whole", { verb: "patch", group: "{group}", resource: "gadgets" })
      yield* tried("a scale", { verb: "get", group: "apps", resource: "deployments", subresource: "scale" })
      yield* tried("elsewhere", { verb: "get", resource: "configmaps", namespace: "default" })
      yield* api.send("PATCH", `${path}/g`, { spec: { x: 1 } }, sent)
      yield* api.send("PATCH", `${path}/g/status`, { status: { x: 1 } }, sent)
    }),
    "T3, T4: rights of a group, and of a role of the whole cluster": run(function* (api: Api) {
      yield* rights(api, rule(["configmaps"], ["get"]))
      yield* api.quietly("POST", `${rbac}/rolebindings`, {
        apiVersion: `${group}/v1`,
        kind: "RoleBinding",
        metadata: { name: "readers" },
        roleRef: { apiGroup: group, kind: "Role", name: "operator" },
        subjects: [{ apiGroup: group, kind: "Group", name: "readers-{ns}" }]
      })
      const get = { verb: "get", resource: "configmaps" }
      const ada = { user: "ada", groups: ["readers-{ns}"] }
      yield* Effect.repeat(allowed(api, get, ada), { until: (yes) => yes === true, schedule: soon })
      yield* api.note("a reader gets", (yield* allowed(api, get, ada)) ?? null)
      yield* api.note("a reader deletes", (yield* allowed(api, { ...get, verb: "delete" }, ada)) ?? null)
      yield* api.note("a stranger gets", (yield* allowed(api, get, { user: "eve" })) ?? null)
      yield* api.note(
        "an administrator deletes",
        (yield* allowed(api, { ...get, verb: "delete" }, { user: "ada", groups: ["system:masters"] })) ?? null
      )
    }),
    "T3, T4: an account asks for itself what it may": run(function* (api: Api) {
      yield* rights(api, rule(["configmaps"], ["get"]))
      const review = (kind: string, spec: object) =>
        api.quietly(
          "POST",
          `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
          {
            apiVersion: "authorization.k8s.io/v1",
            kind,
            spec
          },
          { as: account }
        )
      const self = (attributes: object) =>
        review("SelfSubjectAccessReview", { resourceAttributes: { namespace: "{ns}", ...attributes } })
      yield* api.note("get", at((yield* self({ verb: "get", resource: "configmaps" })).body, "status.allowed") ?? null)
      yield* api.note(
        "list",
        at((yield* self({ verb: "list", resource: "configmaps" })).body, "status.allowed") ?? null
      )
      const rules = yield* review("SelfSubjectRulesReview", { namespace: "{ns}" })
      const own = at(rules.body, "status.resourceRules")
      yield* api.note(
        "its rules",
        Array.isArray(own) ? own.filter((each) => textAt(each, "resources.0") === "configmaps") : []
      )
      const who = yield* api.quietly(
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {
          apiVersion: "authentication.k8s.io/v1",
          kind: "SelfSubjectReview"
        },
        { as: account }
      )
      yield* api.note("itself", at(who.body, "status.userInfo") ?? null)
    }),
    "T3, T4: a review that asks nothing is refused": run(function* (api: Api) {
      const review = (spec: object) =>
        api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec
        })
      yield* review({ user: "ada" })
      yield* review({ resourceAttributes: { verb: "get", resource: "pods" } })
      yield* api.get("/apis/authorization.k8s.io/v1/subjectaccessreviews")
    }),
    "T3, T4: a token of an account is short-lived, and says whose it is": run(function* (api: Api) {
      const metadata = { name: "operator" }
      yield* api.quietly("POST", "~/serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata })
      const request = (spec: object) => ({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec })
      yield* api.post(tokens, request({ expirationSeconds: 10 }))
      yield* api.post("~/serviceaccounts/none/token", request({}))
      const { body, status } = yield* api.quietly("POST", tokens, request({ expirationSeconds: 900 }))
      yield* api.note("a token", { status, spec: at(body, "spec.expirationSeconds") ?? null })
      const review = (token: string) =>
        api.quietly("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token }
        })
      const reviewed = yield* review(textAt(body, "status.token"))
      yield* api.note("whose it is", [
        at(reviewed.body, "status.authenticated") ?? null,
        textAt(reviewed.body, "status.user.username"),
        at(reviewed.body, "status.user.groups") ?? null
      ])
      const nonsense = yield* review("nonsense")
      yield* api.note("a token that is none", at(nonsense.body, "status.authenticated") ?? null)
      // A server may remember for seconds that a token was good: this one it has not seen.
      const unseen = yield* api.quietly("POST", tokens, request({}))
      yield* api.quietly("DELETE", "~/serviceaccounts/operator")
      const late = yield* review(textAt(unseen.body, "status.token"))
      yield* api.note("a token whose account is gone", at(late.body, "status.authenticated") ?? null)
    }),
    "T3, T4: nobody grants what they do not have": {
      run: run(function* (api: Api) {
        yield* rights(api, rule(["configmaps"], ["get"]), {
          apiGroups: [group],
          resources: ["roles"],
          verbs: ["create"]
        })
        const role = (verbs: ReadonlyArray<string>) => ({
          apiVersion: `${group}/v1`,
          kind: "Role",
          metadata: { name: "granted" },
          rules: [rule(["configmaps"], verbs)]
        })
        const grant = Effect.fnUntraced(function* (verb: string) {
          const { body, status } = yield* api.quietly("POST", `${rbac}/roles?dryRun=All`, role([verb]), { as: account })
          yield* api.note(verb, { status, reason: textAt(body, "reason") })
        })
        yield* grant("get")
        yield* grant("delete")
      }),
      differs: "Whoever may write a Role may write any rule into it."
    }
  },
  { embedded: Cluster.embedded({ rbac: true }) }
)
