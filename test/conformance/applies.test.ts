import { Effect } from "effect"
import { type Api, types } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap, gadget, gadgets, path } from "./support/kinds.ts"
import { at, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const text = { type: "string" }

/** Lists and maps of every sort that server-side apply tells apart. */
const sorts = gadgets({
  properties: {
    ports: {
      type: "array",
      items: {
        type: "object",
        required: ["name"],
        properties: { name: text, port: { type: "integer" }, protocol: { type: "string", default: "TCP" } }
      },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"]
    },
    tags: { type: "array", items: text, "x-kubernetes-list-type": "set" },
    args: { type: "array", items: text },
    frozen: { type: "object", additionalProperties: text, "x-kubernetes-map-type": "atomic" },
    limits: { type: "object", additionalProperties: text },
    options: { type: "object", properties: { depth: { type: "integer" }, width: { type: "integer" } } }
  }
})

const conditions = gadgets(
  {},
  {
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          status: {
            type: "object",
            properties: {
              conditions: {
                type: "array",
                items: { type: "object", required: ["type"], properties: { type: text, status: text } },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"]
              }
            }
          }
        }
      }
    }
  }
)

/** A gadget as an apply sends it, without anything that it does not mean to own. */
const wanted = (spec: object) => gadget("g", spec)
const bare = (more: object) => ({ apiVersion: "{group}/v1", kind: "Gadget", metadata: { name: "g" }, ...more })
const settings = (more: object) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, ...more })

conform("applies", {
  "T3, T4: an item of a list with keys belongs to whoever applied it": run(function* (api: Api) {
    yield* api.define(sorts)
    const port = (name: string) => ({ name, port: 1 })
    yield* api.apply(`${path}/g`, "one", wanted({ ports: [port("a"), port("b")] }))
    yield* api.apply(`${path}/g`, "two", wanted({ ports: [port("c")] }))
    yield* api.apply(`${path}/g`, "one", wanted({ ports: [port("b")] }))
    yield* api.apply(`${path}/g`, "two", wanted({}))
  }),
  "T3, T4: an item that two applied goes with the second of them": run(function* (api: Api) {
    yield* api.define(sorts)
    const ports = [{ name: "a", port: 1 }]
    yield* api.apply(`${path}/g`, "one", wanted({ ports }))
    yield* api.apply(`${path}/g`, "two", wanted({ ports }))
    yield* api.apply(`${path}/g`, "one", wanted({}))
    yield* api.apply(`${path}/g`, "two", wanted({}))
  }),
  "T3, T4: a conflict inside a list names the item": run(function* (api: Api) {
    yield* api.define(sorts)
    yield* api.apply(`${path}/g`, "one", wanted({ ports: [{ name: "a", port: 1 }], tags: ["x"] }))
    yield* api.apply(`${path}/g`, "two", wanted({ ports: [{ name: "a", port: 2 }], tags: ["x", "y"] }))
    yield* api.apply(`${path}/g`, "two", wanted({ ports: [{ name: "a", port: 2 }], tags: ["x", "y"] }), "&force=true")
  }),
  "T3, T4: conflicts with several managers are told of each": run(function* (api: Api) {
    yield* api.define(sorts)
    yield* api.apply(`${path}/g`, "one", wanted({ options: { depth: 1 } }))
    yield* api.apply(`${path}/g`, "two", wanted({ options: { width: 1 }, args: ["a"] }))
    yield* api.apply(`${path}/g`, "three", wanted({ options: { depth: 2, width: 2 }, args: ["b"] }))
  }),
  "T3, T4: an element of a set belongs to whoever applied it": run(function* (api: Api) {
    yield* api.define(sorts)
    yield* api.apply(`${path}/g`, "one", wanted({ tags: ["a", "b"] }))
    yield* api.apply(`${path}/g`, "two", wanted({ tags: ["b", "c"] }))
    yield* api.apply(`${path}/g`, "one", wanted({ tags: [] }))
    yield* api.apply(`${path}/g`, "two", wanted({ tags: ["c"] }))
  }),
  "T3, T4: an atomic list or map belongs to one manager as a whole": run(function* (api: Api) {
    yield* api.define(sorts)
    yield* api.apply(`${path}/g`, "one", wanted({ args: ["a", "b"], frozen: { x: "1" } }))
    yield* api.apply(`${path}/g`, "two", wanted({ args: ["b"], frozen: { y: "1" } }))
    yield* api.apply(`${path}/g`, "two", wanted({ args: ["b"], frozen: { y: "1" } }), "&force=true")
    yield* api.apply(`${path}/g`, "one", wanted({}))
  }),
  "T3, T4: a map belongs to its managers key by key": run(function* (api: Api) {
    yield* api.define(sorts)
    yield* api.apply(`${path}/g`, "one", wanted({ limits: { cpu: "1", memory: "1Gi" } }))
    yield* api.apply(`${path}/g`, "two", wanted({ limits: { storage: "1Gi" } }))
    yield* api.apply(`${path}/g`, "one", wanted({ limits: { cpu: "1" } }))
    yield* api.apply(`${path}/g`, "one", wanted({}))
  }),
  "T3, T4: an apply of a list with a key twice, or without one, is refused": run(function* (api: Api) {
    yield* api.define(sorts)
    const refused = Effect.fnUntraced(function* (what: string, spec: object) {
      const { body, status } = yield* api.quietly("PATCH", `${path}/g?fieldManager=one`, wanted(spec), {
        type: types.apply
      })
      yield* api.note(what, { status, reason: textAt(body, "reason") })
    })
    yield* refused("an item twice", { ports: [{ name: "a" }, { name: "a" }] })
    yield* refused("an item without its key", { ports: [{ port: 1 }] })
    yield* refused("an element twice", { tags: ["a", "a"] })
    yield* api.get(`${path}/g`)
  }),
  "T3, T4: an apply of a field that the kind does not have is refused": run(function* (api: Api) {
    yield* api.define(sorts)
    yield* api.apply(`${path}/g`, "one", wanted({ colour: "red" }))
    yield* api.apply(`${path}/g`, "one", wanted({ options: { depth: 1, height: 1 } }))
  }),
  "T3, T4: a default belongs to nobody that did not apply it": run(function* (api: Api) {
    yield* api.define(sorts)
    yield* api.apply(`${path}/g`, "one", wanted({ ports: [{ name: "a" }] }))
    yield* api.apply(`${path}/g`, "two", wanted({ ports: [{ name: "a", protocol: "UDP" }] }))
    yield* api.apply(`${path}/g`, "two", wanted({ ports: [{ name: "a" }] }))
  }),
  "T3, T4: conditions are applied by type, each by its own controller": run(function* (api: Api) {
    yield* api.define(conditions)
    const status = (type: string, is: string) => bare({ status: { conditions: [{ type, status: is }] } })
    yield* api.apply(`${path}/g`, "user", wanted({ x: 1 }))
    yield* api.apply(`${path}/g/status`, "one", status("Ready", "True"))
    yield* api.apply(`${path}/g/status`, "two", status("Synced", "True"))
    yield* api.apply(`${path}/g/status`, "one", status("Ready", "False"))
    yield* api.apply(`${path}/g/status`, "one", bare({ status: {} }))
  }),
  "T3, T4: an apply to one door leaves what belongs to the other": run(function* (api: Api) {
    yield* api.define(conditions)
    yield* api.apply(`${path}/g`, "one", bare({ spec: { x: 1 }, status: { conditions: [] } }))
    yield* api.apply(`${path}/g/status`, "one", bare({ spec: { x: 2 }, status: { conditions: [{ type: "Ready" }] } }))
    yield* api.apply(`${path}/g`, "one", bare({ spec: {} }))
    yield* api.apply(`${path}/h/status`, "one", { ...bare({}), metadata: { name: "h" } })
  }),
  "T3, T4: an update takes fields over, and what it removes belongs to nobody": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", settings({ data: { x: "1", y: "1", z: "1" } }))
    yield* api.put("~/configmaps/a?fieldManager=hand", settings({ data: { x: "2", y: "1" } }))
    yield* api.apply("~/configmaps/a", "one", settings({ data: { x: "1", y: "1", z: "1" } }))
    yield* api.apply("~/configmaps/a", "one", settings({ data: { y: "1", z: "1" } }))
  }),
  "T3, T4: finalizers and owners are applied one by one": run(function* (api: Api) {
    const { body } = yield* api.quietly("POST", "~/configmaps", configMap("owner"))
    const uid = textAt(body, "metadata.uid")
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }
    const named = (metadata: object) => settings({ metadata: { name: "a", ...metadata } })
    yield* api.apply("~/configmaps/a", "one", named({ finalizers: ["example.com/one"], ownerReferences: [owner] }))
    yield* api.apply("~/configmaps/a", "two", named({ finalizers: ["example.com/two"] }))
    yield* api.apply("~/configmaps/a", "one", named({}))
    yield* api.apply("~/configmaps/a", "two", named({}))
  }),
  "T3, T4: labels and annotations of several managers live side by side": run(function* (api: Api) {
    const named = (metadata: object) => settings({ metadata: { name: "a", ...metadata } })
    yield* api.apply("~/configmaps/a", "one", named({ labels: { a: "1", b: "1" }, annotations: { "e.com/a": "1" } }))
    yield* api.apply("~/configmaps/a", "two", named({ labels: { b: "2" } }))
    yield* api.apply("~/configmaps/a", "two", named({ labels: { c: "2" } }))
    yield* api.apply("~/configmaps/a", "one", named({ labels: { a: "1" } }))
  }),
  "T3, T4: an apply of an older version is a conflict": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps?fieldManager=hand", configMap("a"))
    const metadata = { name: "a", resourceVersion: textAt(body, "metadata.resourceVersion") }
    yield* api.apply("~/configmaps/a", "one", settings({ metadata, data: { y: "1" } }))
    yield* api.apply("~/configmaps/a", "one", settings({ metadata, data: { y: "2" } }))
  }),
  "T3, T4: an apply that changes nothing writes nothing, also with force": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", settings({ data: { x: "1" } }))
    yield* api.apply("~/configmaps/a", "one", settings({ data: { x: "1" } }), "&force=true")
    yield* api.apply("~/configmaps/a", "two", settings({ data: { x: "1" } }))
    yield* api.apply("~/configmaps/a", "two", settings({ data: { x: "1" } }))
  }),
  "T3, T4: an apply in two versions of a kind is one manager's": run(function* (api: Api) {
    const version = (name: string, storage: boolean) => ({
      name,
      served: true,
      storage,
      schema: {
        openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: { x: text, y: text } } } }
      }
    })
    yield* api.define(gadgets({}, {}, { versions: [version("v1", true), version("v2", false)] }))
    const second = path.replace("/v1/", "/v2/")
    const inSecond = (spec: object) => ({ ...wanted(spec), apiVersion: "{group}/v2" })
    yield* api.until(second, ({ status }) => status === 200)
    yield* api.apply(`${path}/g`, "one", wanted({ x: "1", y: "1" }))
    yield* api.apply(`${second}/g`, "one", inSecond({ y: "2" }))
    yield* api.send("PATCH", `${second}/g?fieldManager=hand`, { spec: { x: "3" } })
    yield* api.apply(`${path}/g`, "one", wanted({ x: "1", y: "2" }))
  }),
  "T3, T4: a conflict over a container of a built-in kind names it": run(function* (api: Api) {
    const cronJob = (containers: ReadonlyArray<object>) => ({
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "d" },
      spec: {
        schedule: "0 0 1 1 *",
        suspend: true,
        jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", containers } } } }
      }
    })
    const cronJobs = "/apis/batch/v1/namespaces/{ns}/cronjobs"
    const ports = [{ containerPort: 80 }, { containerPort: 80, protocol: "UDP" }]
    yield* api.apply(`${cronJobs}/d`, "one", cronJob([{ name: "a", image: "a:1", ports }]))
    yield* api.apply(`${cronJobs}/d`, "two", cronJob([{ name: "a", image: "a:2", ports: [{ containerPort: 81 }] }]))
    yield* api.apply(
      `${cronJobs}/d`,
      "two",
      cronJob([{ name: "a", image: "a:2", ports: [{ containerPort: 81 }] }]),
      "&force=true"
    )
    yield* api.apply(`${cronJobs}/d`, "one", cronJob([{ name: "b", image: "b:1" }]))
  }),
  "T3, T4: kubectl goes over from client-side to server-side apply": run(function* (api: Api) {
    const last = "kubectl.kubernetes.io/last-applied-configuration"
    const sent = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "{ns}" }, data: { x: "1" } }
    const annotated = { ...sent, metadata: { ...sent.metadata, annotations: { [last]: `${JSON.stringify(sent)}\n` } } }
    yield* api.post("~/configmaps?fieldManager=kubectl-client-side-apply", annotated)
    yield* api.apply("~/configmaps/a", "other", { ...sent, data: { x: "2" } })
    yield* api.apply("~/configmaps/a", "kubectl", { ...sent, data: { x: "<2>" } })
    yield* api.post(
      "~/configmaps?fieldManager=kubectl-client-side-apply",
      JSON.parse(JSON.stringify(annotated).replaceAll('"name":"a"', '"name":"b"'))
    )
    yield* api.send("PATCH", "~/configmaps/b?fieldManager=hand", { data: { x: "9" } })
    yield* api.apply("~/configmaps/b", "kubectl", { ...sent, metadata: { name: "b" }, data: { x: "2" } })
  }),
  "T3, T4: managers of updates are kept to ten": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps?fieldManager=m00", configMap("a"))
    for (let index = 1; index < 13; index++) {
      const manager = `m${String(index).padStart(2, "0")}`
      yield* api.quietly("PATCH", `~/configmaps/a?fieldManager=${manager}`, { data: { [manager]: "1" } })
    }
    const { body } = yield* api.quietly("GET", "~/configmaps/a")
    const managers = at(body, "metadata.managedFields")
    yield* api.note("the managers", Array.isArray(managers) ? managers.map((each) => textAt(each, "manager")) : [])
  }),
  "T3, T4: parameters of an apply are checked": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "", settings({ data: { x: "1" } }))
    yield* api.apply("~/configmaps/a", "x".repeat(129), settings({ data: { x: "1" } }))
    yield* api.send("PATCH", "~/configmaps/a?force=true", { data: { x: "1" } })
    yield* api.apply("~/configmaps/a", "one", { ...settings({}), kind: "Secret" })
    yield* api.apply("~/configmaps/a", "one", [])
    yield* api.apply("~/configmaps/Not_A_Name", "one", { ...settings({}), metadata: { name: "Not_A_Name" } })
  }),
  "T3, T4: an apply with a version needs an object that is there": run(function* (api: Api) {
    yield* api.apply("~/configmaps/a", "one", settings({ metadata: { name: "a", resourceVersion: "1" } }))
    yield* api.quietly("DELETE", "~/configmaps/a")
    yield* api.apply("~/configmaps/a", "one", settings({ metadata: { generateName: "gen-" } }))
  })
})
