import { Effect } from "effect"
import type { Api } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap } from "./support/kinds.ts"
import { textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}"

conform("names", {
  "T3, T4: each kind has its own idea of a name": run(function* (api: Api) {
    const service = (name: string) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { clusterIP: "None", selector: { a: "b" } }
    })
    yield* api.post("~/services", service("a.b"))
    yield* api.post("~/services", service("1a"))
    yield* api.post(`${rbac}/roles?dryRun=All`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "System:Of/Mine" }
    })
    yield* api.post("~/serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a_b" } })
    yield* api.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "A" } })
    yield* api.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "a".repeat(64) } })
  }),
  "T3, T4: what generateName makes is cut to fit, and checked": run(function* (api: Api) {
    const generated = (generateName: string) => configMap("", { metadata: { generateName } })
    const { body } = yield* api.quietly("POST", "~/configmaps", generated("x".repeat(80)))
    yield* api.note("its length", textAt(body, "metadata.name").length)
    for (const prefix of ["Bad_", "gen-.", "gen_"]) {
      const { body, status } = yield* api.quietly("POST", "~/configmaps?dryRun=All", generated(prefix))
      const causes = [0, 1].map((index) => textAt(body, `details.causes.${index}.field`))
      yield* api.note(prefix, { status, causes })
    }
  }),
  "T3, T4: labels that are too long or ill-formed are refused": run(function* (api: Api) {
    const labelled = (labels: object) => api.post("~/configmaps", configMap("a", { metadata: { name: "a", labels } }))
    yield* labelled({ a: "x".repeat(64) })
    yield* labelled({ ["x".repeat(64)]: "a" })
    yield* labelled({ "Prefix.com/a": "a" })
    yield* labelled({ "/a": "a" })
    yield* labelled({ a: "-" })
    yield* labelled({ "e.com/": "a" })
  }),
  "T3, T4: what the server itself says of an object cannot be sent": run(function* (api: Api) {
    const metadata = {
      name: "a",
      uid: "00000000-0000-0000-0000-000000000000",
      creationTimestamp: "2001-01-01T00:00:00Z",
      deletionTimestamp: "2001-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 5,
      generation: 7,
      selfLink: "/x"
    }
    yield* api.post("~/configmaps", configMap("a", { metadata }))
    yield* api.merge("~/configmaps/a", { metadata: { deletionTimestamp: "2001-01-01T00:00:00Z", generation: 9 } })
    yield* api.merge("~/configmaps/a", { metadata: { creationTimestamp: "2001-01-01T00:00:00Z" } })
    yield* api.merge("~/configmaps/a", { metadata: { creationTimestamp: null, uid: null, resourceVersion: null } })
  }),
  "T3, T4: an object that is being deleted cannot be called back, or made again": run(function* (api: Api) {
    const metadata = { name: "a", finalizers: ["example.com/held"] }
    yield* api.post("~/configmaps", configMap("a", { metadata }))
    yield* api.remove("~/configmaps/a")
    yield* api.merge("~/configmaps/a", { metadata: { deletionTimestamp: null } })
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.put("~/configmaps/a", configMap("a"))
    yield* api.post("~/configmaps", configMap("a"))
  }),
  "T3, T4: a namespace in an object must be that of the path": run(function* (api: Api) {
    yield* api.post("/api/v1/namespaces?dryRun=All", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "berth-conformance-other", namespace: "other" }
    })
    yield* api.put("~/configmaps/a", configMap("a", { metadata: { name: "a", namespace: "other" } }))
    yield* api.apply("~/configmaps/a", "one", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", namespace: "other" }
    })
  }),
  "T3, T4: an update minds its kind's own idea of a name": run(function* (api: Api) {
    yield* api.post(`${rbac}/roles`, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "a:b" }
    })
    yield* api.merge(`${rbac}/roles/a:b`, { metadata: { labels: { x: "y" } } })
  })
})
