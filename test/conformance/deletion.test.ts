import { Effect } from "effect"
import type { Api } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap } from "./support/kinds.ts"
import { at, textAt } from "./support/normal.ts"
import { deleteOptions, envelope, field, numberField } from "./support/protobuf.ts"

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
const type = "application/vnd.kubernetes.protobuf"
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
  }),
  "T3, T4: the options of a delete may be protobuf, as clients in Go send them": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("a"))
    const uid = textAt(body, "metadata.uid")
    const remove = (message: string) => api.send("DELETE", "~/configmaps/a", deleteOptions(message), { type })

    yield* remove(field(2, field(1, "00000000-0000-0000-0000-000000000000")))
    yield* remove(field(5, "All"))
    yield* remove(field(4, "Foreground") + field(5, "All"))
    yield* remove(field(4, "Later"))
    yield* remove(field(4, "Orphan") + numberField(3, 1))
    yield* remove(numberField(1, 0) + field(2, field(1, uid)) + field(4, "Background"))
    yield* api.get("~/configmaps/a")
    yield* api.quietly("POST", "~/configmaps", configMap("a"))
    yield* remove("")
    yield* api.quietly("POST", "~/configmaps", configMap("a"))
    const selected = "~/configmaps?fieldSelector=metadata.name%3Da"
    const { status } = yield* api.quietly("DELETE", selected, deleteOptions(field(4, "Background")), { type })
    yield* api.note("a delete of several", status)
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: of options in protobuf unknown fields are passed over, and the type may be that of any group": run(
    function* (api: Api) {
      const remove = (sent: string) => api.send("DELETE", "~/configmaps/a?dryRun=All", sent, { type })
      const dryRun = field(5, "All")
      yield* api.post("~/configmaps", configMap("a"))
      const double = String.fromCodePoint(13 * 8 + 1)
      const group = String.fromCodePoint(12 * 8 + 3)
      const groupEnd = String.fromCodePoint(12 * 8 + 4)
      const float = String.fromCodePoint(11 * 8 + 5)
      const unknown = `${field(9, "x")}${numberField(10, 7)}${double}12345678${float}1234${group}${group}${groupEnd}${groupEnd}`

      yield* remove(deleteOptions(unknown + dryRun))
      const twice = field(2, field(1, "00000000-0000-0000-0000-000000000000")) + field(2, field(2, "1"))
      yield* remove(deleteOptions(twice + dryRun))
      yield* remove(envelope("apps/v1", "DeleteOptions", dryRun))
      yield* remove(envelope("meta.k8s.io/v1", "DeleteOptions", dryRun))
      yield* remove(`k8s\u0000${field(2, dryRun)}`)
    }
  ),
  "T3, T4: malformed options of a delete are a bad request": run(function* (api: Api) {
    const remove = (sent: string) => api.send("DELETE", "~/configmaps/a", sent, { type })
    yield* api.post("~/configmaps", configMap("a"))

    yield* remove("{}")
    yield* remove("k8s")
    yield* remove("k8s\u0000")
    yield* remove("k8s\u0000\u000A\u007F")
    yield* remove(deleteOptions(field(4, "Background").slice(0, -1)))
    yield* remove(deleteOptions(numberField(4, 1)))
    yield* remove(deleteOptions(field(1, "1")))
    yield* remove(deleteOptions("\u0007"))
    yield* remove(deleteOptions("\u000C"))
    yield* remove(envelope("v1", "ConfigMap", ""))
    yield* api.send("DELETE", "~/configmaps/a", "{}", { type: "text/plain" })
    yield* api.send("DELETE", "~/configmaps/a", "{}", { type: "application/x-www-form-urlencoded" })
    yield* api.get("~/configmaps/a")
  })
})
