import { Effect } from "effect"
import type { Api } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap } from "./support/kinds.ts"
import { at, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const held = (name: string) => configMap(name, { metadata: { name, finalizers: ["example.com/held"] } })
const ownedBy = (name: string, owner: unknown, more: object = {}) =>
  configMap(name, {
    metadata: {
      name,
      ownerReferences: [
        { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: textAt(owner, "metadata.uid"), ...more }
      ]
    }
  })
const isGone = ({ status }: { readonly status: number }) => status === 404

conform("deletion", {
  "T3, T4: a delete answers with a Status that names the object": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.remove("~/configmaps/a")
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: a delete holds to its preconditions": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("a"))
    yield* api.merge("~/configmaps/a", { data: { x: "2" } })
    yield* api.remove("~/configmaps/a", { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } })
    const old = textAt(body, "metadata.resourceVersion")
    const { body: refused, status } = yield* api.quietly("DELETE", "~/configmaps/a", {
      preconditions: { resourceVersion: old }
    })
    yield* api.note("a delete of an older version", { status, reason: textAt(refused, "reason") })
    yield* api.remove("~/configmaps/a", { preconditions: { uid: textAt(body, "metadata.uid") } })
  }),
  "T3, T4: a finalizer keeps the object, marked, until it is taken off": run(function* (api: Api) {
    yield* api.post("~/configmaps", held("a"))
    yield* api.remove("~/configmaps/a")
    yield* api.remove("~/configmaps/a")
    yield* api.merge("~/configmaps/a", { data: { x: "2" } })
    yield* api.merge("~/configmaps/a", { metadata: { finalizers: ["example.com/held", "example.com/more"] } })
    yield* api.merge("~/configmaps/a", { metadata: { finalizers: null } })
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: a finalizer by JSON patch": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.json("~/configmaps/a", [{ op: "add", path: "/metadata/finalizers", value: ["example.com/held"] }])
    yield* api.remove("~/configmaps/a")
    yield* api.json("~/configmaps/a", [
      { op: "test", path: "/metadata/finalizers/0", value: "example.com/held" },
      { op: "remove", path: "/metadata/finalizers/0" }
    ])
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: in the background dependents go after their owner": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("owner"))
    yield* api.post("~/configmaps", ownedBy("dependent", body))
    yield* api.remove("~/configmaps/owner", { propagationPolicy: "Background" })
    yield* api.until("~/configmaps/dependent", isGone)
    yield* api.get("~/configmaps/dependent")
  }),
  "T3, T4: in the foreground the owner waits for its dependents": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("owner"))
    yield* api.post(
      "~/configmaps",
      configMap("dependent", {
        metadata: {
          name: "dependent",
          finalizers: ["example.com/held"],
          ownerReferences: [
            {
              apiVersion: "v1",
              kind: "ConfigMap",
              name: "owner",
              uid: textAt(body, "metadata.uid"),
              blockOwnerDeletion: true
            }
          ]
        }
      })
    )
    yield* api.remove("~/configmaps/owner", { propagationPolicy: "Foreground" })
    yield* api.until("~/configmaps/dependent", (answer) => at(answer.body, "metadata.deletionTimestamp") !== undefined)
    yield* api.get("~/configmaps/owner")
    yield* api.merge("~/configmaps/dependent", { metadata: { finalizers: null } })
    yield* api.until("~/configmaps/owner", isGone)
    yield* api.get("~/configmaps/dependent")
  }),
  "T3, T4: an orphan loses its owner and stays": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("owner"))
    yield* api.post("~/configmaps", ownedBy("dependent", body))
    yield* api.remove("~/configmaps/owner", { propagationPolicy: "Orphan" })
    yield* api.until("~/configmaps/owner", isGone)
    const { body: left } = yield* api.quietly("GET", "~/configmaps/dependent")
    yield* api.note("its owners", at(left, "metadata.ownerReferences") ?? [])
  }),
  "T3, T4: a dependent with a second owner stays": run(function* (api: Api) {
    const { body: first } = yield* api.quietly("POST", "~/configmaps", configMap("owner"))
    const { body: second } = yield* api.quietly("POST", "~/configmaps", configMap("second"))
    const owner = (name: string, of: unknown) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name,
      uid: textAt(of, "metadata.uid")
    })
    const ownerReferences = [owner("owner", first), owner("second", second)]
    yield* api.quietly("POST", "~/configmaps", configMap("both", { metadata: { name: "both", ownerReferences } }))
    yield* api.quietly("POST", "~/configmaps", ownedBy("one", first))
    yield* api.remove("~/configmaps/owner")
    yield* api.until("~/configmaps/one", isGone)
    const left = yield* api.until(
      "~/configmaps/both",
      ({ body }) => at(body, "metadata.ownerReferences.1") === undefined
    )
    yield* api.note("the owner that is left", textAt(left.body, "metadata.ownerReferences.0.name"))
  }),
  "T3, T4: owner references are checked": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("owner"))
    yield* api.post("~/configmaps", ownedBy("a", body, { uid: "" }))
    yield* api.post("~/configmaps", ownedBy("a", body, { kind: "" }))
    const ownerReferences = ["1", "2"].map((uid) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name: "owner",
      uid,
      controller: true
    }))
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", ownerReferences } }))
  }),
  "T3, T4: a policy that is not known is refused": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.remove("~/configmaps/a", { propagationPolicy: "Sideways" })
    yield* api.remove("~/configmaps/a", { propagationPolicy: "Orphan", orphanDependents: true })
  }),
  "T3, T4: a collection is deleted as far as the selector goes": run(function* (api: Api) {
    const labelled = (name: string, mine: string) => configMap(name, { metadata: { name, labels: { mine } } })
    yield* api.post("~/configmaps", labelled("a", "yes"))
    yield* api.post("~/configmaps", labelled("b", "yes"))
    yield* api.post("~/configmaps", labelled("c", "no"))
    yield* api.remove("~/configmaps?labelSelector=mine%3Dyes")
    yield* api.get("~/configmaps?labelSelector=mine")
  }),
  "T3, T4: a namespace takes everything along, and takes nothing new meanwhile": run(function* (api: Api) {
    yield* api.post("~/configmaps", held("held"))
    yield* api.remove("/api/v1/namespaces/{ns}")
    yield* api.post("~/configmaps", configMap("late"))
    yield* api.until("~/configmaps/held", ({ body }) => at(body, "metadata.deletionTimestamp") !== undefined)
    yield* api.merge("~/configmaps/held", { metadata: { finalizers: null } })
    yield* api.until("/api/v1/namespaces/{ns}", isGone)
    yield* api.get("/api/v1/namespaces/{ns}")
  })
})
