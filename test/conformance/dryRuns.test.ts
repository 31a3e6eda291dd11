import { Effect } from "effect"
import { type Api, definitions, types } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap, gadget, gadgets, path } from "./support/kinds.ts"
import { textAt } from "./support/normal.ts"

const run = Effect.fnUntraced

conform("dryRuns", {
  "T3, T4: a dry run of every patch answers as if": run(function* (api: Api) {
    yield* api.post("~/configmaps?fieldManager=hand", configMap("a"))
    const patched = (patch: unknown, type: string, more = "") =>
      api.send("PATCH", `~/configmaps/a?dryRun=All&fieldManager=dry${more}`, patch, { type })
    yield* patched({ data: { x: "2" } }, types.merge)
    yield* patched({ data: { x: "3" } }, types.strategic)
    yield* patched([{ op: "add", path: "/data/y", value: "1" }], types.json)
    const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { x: "4" } }
    yield* patched(applied, types.apply)
    yield* patched(applied, types.apply, "&force=true")
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: a dry run of a create has a uid and no version": run(function* (api: Api) {
    yield* api.post("~/configmaps?dryRun=All", configMap("", { metadata: { generateName: "gen-" } }))
    yield* api.post("~/configmaps?dryRun=All", configMap("Not_A_Name"))
    yield* api.quietly("POST", "~/configmaps", configMap("a"))
    yield* api.post("~/configmaps?dryRun=All", configMap("a"))
    yield* api.get("~/configmaps?limit=500&labelSelector=none")
  }),
  "T3, T4: a dry run of a status, and of a scale, stores nothing": run(function* (api: Api) {
    const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
    yield* api.define(
      gadgets({ properties: { replicas: { type: "integer" } } }, { subresources: { status: {}, scale } })
    )
    yield* api.post(path, gadget("g", { replicas: 1 }))
    yield* api.merge(`${path}/g/status?dryRun=All`, { status: { replicas: 1 } })
    yield* api.merge(`${path}/g/scale?dryRun=All`, { spec: { replicas: 5 } })
    yield* api.merge(`${path}/g?dryRun=All`, { spec: { replicas: 7 } })
    yield* api.get(`${path}/g`)
  }),
  "T3, T4: a dry run of a delete, also when only its body says so": run(function* (api: Api) {
    const metadata = { name: "a", finalizers: ["example.com/held"] }
    yield* api.post("~/configmaps", configMap("a", { metadata }))
    yield* api.remove("~/configmaps/a", { dryRun: ["All"] })
    yield* api.remove("~/configmaps/a?dryRun=All")
    yield* api.remove("~/configmaps?dryRun=All&fieldSelector=metadata.name%3Da")
    yield* api.remove("~/configmaps/a", { dryRun: ["Some"] })
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: a dry run of an update is checked as any": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("a"))
    yield* api.quietly("PATCH", "~/configmaps/a", { data: { x: "2" } })
    const metadata = { name: "a", resourceVersion: textAt(body, "metadata.resourceVersion") }
    yield* api.put("~/configmaps/a?dryRun=All", configMap("a", { metadata }))
    const wrong = configMap("a", { metadata: { name: "a", labels: { "b d": "x" } } })
    const { body: refused, status } = yield* api.quietly("PUT", "~/configmaps/a?dryRun=All", wrong)
    yield* api.note("a label that is none", { status, field: textAt(refused, "details.causes.0.field") })
    yield* api.put("~/configmaps/b?dryRun=All", configMap("b"))
  }),
  "T3, T4: a dry run of a definition defines nothing": run(function* (api: Api) {
    const { body, status } = yield* api.quietly("POST", `${definitions}?dryRun=All`, gadgets())
    yield* api.note("a definition", { status, name: textAt(body, "spec.names.plural") })
    yield* api.get(`${definitions}/gadgets.{group}`)
    yield* api.get(path)
  })
})
