import { Effect } from "effect"
import { type Api, types } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap, gadget, gadgets, path } from "./support/kinds.ts"
import { textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
/** A kind with lists that have keys, with which no controller meddles as long as it is suspended. */
const cronJobs = "/apis/batch/v1/namespaces/{ns}/cronjobs"
const podSpec = (spec: object) => ({ spec: { jobTemplate: { spec: { template: { spec } } } } })
const cronJob = (containers: ReadonlyArray<object>) => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name: "d" },
  spec: {
    schedule: "0 0 1 1 *",
    suspend: true,
    ...podSpec({ restartPolicy: "Never", containers }).spec
  }
})
const applied = (data: object, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", ...more },
  data
})

conform("patches", {
  "T3, T4: a merge patch sets, and null removes": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { data: { x: "1", y: "2" } }))
    yield* api.merge("~/configmaps/a", { data: { x: "2", y: null, z: "3" }, metadata: { labels: { k: "v" } } })
    yield* api.merge("~/configmaps/a", { metadata: { labels: null } })
  }),
  "T3, T4: a merge patch with a version is a compare and swap": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("a"))
    const resourceVersion = textAt(body, "metadata.resourceVersion")
    yield* api.merge("~/configmaps/a", { metadata: { resourceVersion }, data: { x: "2" } })
    yield* api.merge("~/configmaps/a", { metadata: { resourceVersion }, data: { x: "3" } })
  }),
  "T3, T4: a merge patch cannot rename": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.merge("~/configmaps/a", { metadata: { name: "b" } })
    yield* api.merge("~/configmaps/a", { metadata: { uid: "00000000-0000-0000-0000-000000000000" } })
    yield* api.merge("~/configmaps/a", { metadata: { namespace: "default" } })
  }),
  "T3, T4: a JSON patch adds, replaces, moves and removes": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { data: { x: "1", y: "2" } }))
    yield* api.json("~/configmaps/a", [
      { op: "test", path: "/data/x", value: "1" },
      { op: "replace", path: "/data/x", value: "2" },
      { op: "add", path: "/data/z", value: "3" },
      { op: "move", from: "/data/y", path: "/data/w" },
      { op: "copy", from: "/data/w", path: "/data/v" },
      { op: "remove", path: "/data/z" }
    ])
  }),
  "T3, T4: a JSON patch whose test fails changes nothing": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.json("~/configmaps/a", [
      { op: "replace", path: "/data/x", value: "2" },
      { op: "test", path: "/data/x", value: "1" }
    ])
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: a JSON patch of what is not there is refused": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.json("~/configmaps/a", [{ op: "remove", path: "/data/none" }])
    yield* api.json("~/configmaps/a", [{ op: "replace", path: "/nowhere/none", value: 1 }])
    yield* api.json("~/configmaps/a", { data: {} })
  }),
  "T3, T4: a strategic merge patch merges containers by name": run(function* (api: Api) {
    yield* api.post(
      cronJobs,
      cronJob([
        { name: "a", image: "a:1" },
        { name: "b", image: "b:1" }
      ])
    )
    yield* api.strategic(`${cronJobs}/d`, {
      ...podSpec({ containers: [{ name: "b", image: "b:2", env: [{ name: "E", value: "1" }] }] })
    })
    yield* api.strategic(`${cronJobs}/d`, {
      ...podSpec({ containers: [{ name: "a", $patch: "delete" }] })
    })
  }),
  "T3, T4: a custom kind knows no strategic merge patch": run(function* (api: Api) {
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }))
    yield* api.post(path, gadget("g"))
    yield* api.strategic(`${path}/g`, { spec: { x: 1 } })
  }),
  "T3, T4: a patch that changes nothing keeps the version": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.merge("~/configmaps/a", { data: { x: "1" } })
    yield* api.json("~/configmaps/a", [{ op: "replace", path: "/data/x", value: "1" }])
  }),
  "T3, T4: a patch that makes the object invalid names the field": run(function* (api: Api) {
    yield* api.post(cronJobs, cronJob([{ name: "a", image: "a:1" }]))
    yield* api.merge(`${cronJobs}/d`, { spec: { schedule: "never" } })
    yield* api.merge(`${cronJobs}/d`, podSpec({ restartPolicy: "Always" }))
    yield* api.merge(`${cronJobs}/d`, podSpec({ containers: [] }))
  }),
  "T3, T4: a value of another type is refused": run(function* (api: Api) {
    const typed = Effect.fnUntraced(function* (what: string, call: ReturnType<Api["quietly"]>) {
      const { body, status } = yield* call
      yield* api.note(what, { status, reason: textAt(body, "reason"), cause: textAt(body, "details.causes.0.field") })
    })
    yield* typed(
      "a create with a number for a text",
      api.quietly("POST", "~/configmaps", configMap("a", { data: { x: 1 } }))
    )
    yield* api.quietly("POST", "~/configmaps", configMap("a"))
    yield* typed("a patch with a number for a text", api.quietly("PATCH", "~/configmaps/a", { data: { x: 1 } }))
    yield* api.quietly("POST", cronJobs, cronJob([{ name: "a", image: "a:1" }]))
    yield* typed("a patch with a text for a number", api.quietly("PATCH", `${cronJobs}/d`, { spec: { suspend: "no" } }))
  }),
  "T3, T4: an apply creates, and owns what it names": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1" }, { labels: { k: "v" } }))
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1" }, { labels: { k: "v" } }))
  }),
  "T3, T4: an apply that no longer names a field removes it": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1", y: "2" }))
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1" }))
  }),
  "T3, T4: an apply of another's field is a conflict that names both": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1", y: "1" }))
    yield* api.apply("~/configmaps/a", "two", applied({ x: "2", y: "2", z: "2" }))
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: a forced apply takes fields over": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1", y: "1" }))
    yield* api.apply("~/configmaps/a", "two", applied({ x: "2" }), "&force=true")
    yield* api.apply("~/configmaps/a", "one", applied({ y: "1" }))
  }),
  "T3, T4: two managers own the same value together": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1" }))
    yield* api.apply("~/configmaps/a", "two", applied({ x: "1" }))
    yield* api.apply("~/configmaps/a", "one", applied({}))
  }),
  "T3, T4: an apply against what an update owns is a conflict": run(function* (api: Api) {
    yield* api.post("~/configmaps?fieldManager=hand", configMap("a"))
    yield* api.apply("~/configmaps/a", "one", applied({ x: "2" }))
    yield* api.apply("~/configmaps/a", "one", applied({ x: "2" }), "&force=true")
    yield* api.send("PATCH", "~/configmaps/a?fieldManager=hand", { data: { x: "3" } })
  }),
  "T3, T4: an apply needs a manager and takes no managedFields": run(function* (api: Api) {
    yield* api.send("PATCH", "~/configmaps/a", applied({ x: "1" }), { type: types.apply })
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1" }, { managedFields: [{ manager: "two" }] }))
    yield* api.apply("~/configmaps/b", "one", applied({ x: "1" }))
  }),
  "T3, T4: an apply with a uid only changes": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1" }, { uid: "00000000-0000-0000-0000-000000000000" }))
  }),
  "T3, T4: an apply as a dry run": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", applied({ x: "1" }), "&dryRun=All")
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: an apply of YAML": run(function* (api: Api) {
    const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: |\n    two\n    lines\n"
    yield* api.send("PATCH", "~/configmaps/a?fieldManager=one", yaml, { type: types.apply })
  }),
  "T3, T4: an apply merges the lists of a built-in kind by their keys": run(function* (api: Api) {
    yield* api.apply(`${cronJobs}/d`, "one", cronJob([{ name: "a", image: "a:1", env: [{ name: "E", value: "1" }] }]))
    const other = { apiVersion: "batch/v1", kind: "CronJob", metadata: { name: "d" } }
    const added = podSpec({ containers: [{ name: "a", env: [{ name: "F", value: "2" }] }] })
    yield* api.apply(`${cronJobs}/d`, "two", { ...other, ...added })
    yield* api.apply(`${cronJobs}/d`, "two", other)
  }),
  "T3, T4: managedFields can be emptied, and a manager is remembered by subresource": run(function* (api: Api) {
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }))
    yield* api.apply(`${path}/g`, "one", gadget("g", { x: 1 }))
    yield* api.apply(`${path}/g/status`, "one", {
      apiVersion: "{group}/v1",
      kind: "Gadget",
      metadata: { name: "g" },
      status: { ok: true }
    })
    yield* api.merge(`${path}/g`, { metadata: { managedFields: [{}] } })
  })
})
