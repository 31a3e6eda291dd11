import { Effect } from "effect"
import { type Api, types } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap, gadget, gadgets, path } from "./support/kinds.ts"
import { textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
/** A kind with a Pod's spec, with which no controller meddles as long as it is suspended. */
const cronJobs = "/apis/batch/v1/namespaces/{ns}/cronjobs"
const podSpec = (spec: object) => ({ spec: { jobTemplate: { spec: { template: { spec } } } } })
const cronJob = (more: object) => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name: "d" },
  spec: {
    schedule: "0 0 1 1 *",
    suspend: true,
    ...podSpec({ restartPolicy: "Never", containers: [{ name: "a", image: "a:1" }], ...more }).spec
  }
})
const finalizers = (...names: ReadonlyArray<string>) => ({ metadata: { name: "a", finalizers: names } })

conform("merges", {
  "T3, T4: variables of a container merge by name, in the order that kubectl sends": run(function* (api: Api) {
    const env = (...names: ReadonlyArray<string>) => names.map((name) => ({ name, value: name }))
    yield* api.post(cronJobs, cronJob({ containers: [{ name: "a", image: "a:1", env: env("A", "B", "C") }] }))
    yield* api.strategic(`${cronJobs}/d`, {
      ...podSpec({
        "$setElementOrder/containers": [{ name: "a" }],
        containers: [
          {
            name: "a",
            "$setElementOrder/env": [{ name: "C" }, { name: "D" }, { name: "A" }],
            env: [
              { name: "D", value: "D" },
              { name: "B", $patch: "delete" }
            ]
          }
        ]
      })
    })
    yield* api.strategic(
      `${cronJobs}/d`,
      podSpec({ containers: [{ name: "a", env: [{ $patch: "replace" }, ...env("Z")] }] })
    )
  }),
  "T3, T4: ports merge by number, mounts by path, volumes by name": run(function* (api: Api) {
    const volumes = [{ name: "v", emptyDir: {} }]
    const mounted = (mountPath: string) => ({ name: "v", mountPath })
    const container = { name: "a", image: "a:1", ports: [{ containerPort: 80 }], volumeMounts: [mounted("/a")] }
    yield* api.post(cronJobs, cronJob({ containers: [container], volumes }))
    yield* api.strategic(`${cronJobs}/d`, {
      ...podSpec({
        containers: [
          {
            name: "a",
            ports: [{ containerPort: 80, name: "web" }, { containerPort: 81 }],
            volumeMounts: [mounted("/b")]
          }
        ],
        volumes: [{ name: "w", emptyDir: {} }]
      })
    })
    yield* api.strategic(`${cronJobs}/d`, {
      ...podSpec({ volumes: [{ name: "v", $retainKeys: ["name", "configMap"], configMap: { name: "c" } }] })
    })
  }),
  "T3, T4: lists without a key are replaced, and maps merge key by key": run(function* (api: Api) {
    const tolerations = [{ key: "a", operator: "Exists" }]
    yield* api.post(
      cronJobs,
      cronJob({ tolerations, nodeSelector: { a: "1", b: "1" }, imagePullSecrets: [{ name: "s" }] })
    )
    yield* api.strategic(`${cronJobs}/d`, {
      ...podSpec({
        tolerations: [{ key: "b", operator: "Exists" }],
        nodeSelector: { a: null, c: "1" },
        imagePullSecrets: [{ name: "t" }]
      })
    })
    yield* api.strategic(`${cronJobs}/d`, podSpec({ nodeSelector: { $patch: "replace", z: "1" }, tolerations: null }))
  }),
  "T3, T4: finalizers are added and taken off one by one": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", finalizers("example.com/a", "example.com/b")))
    yield* api.strategic("~/configmaps/a", finalizers("example.com/c"))
    yield* api.strategic("~/configmaps/a", {
      metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] }
    })
    yield* api.strategic("~/configmaps/a", {
      metadata: {
        "$deleteFromPrimitiveList/finalizers": ["example.com/b"],
        "$setElementOrder/finalizers": ["example.com/d", "example.com/c"],
        finalizers: ["example.com/d"]
      }
    })
    yield* api.merge("~/configmaps/a", { metadata: { finalizers: null } })
  }),
  "T3, T4: owners merge by uid": run(function* (api: Api) {
    const first = yield* api.quietly("POST", "~/configmaps", configMap("first"))
    const second = yield* api.quietly("POST", "~/configmaps", configMap("second"))
    const owner = (name: string, { body }: { readonly body: unknown }) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name,
      uid: textAt(body, "metadata.uid")
    })
    yield* api.post(
      "~/configmaps",
      configMap("a", { metadata: { name: "a", ownerReferences: [owner("first", first)] } })
    )
    yield* api.strategic("~/configmaps/a", { metadata: { ownerReferences: [owner("second", second)] } })
    yield* api.strategic("~/configmaps/a", {
      metadata: { ownerReferences: [{ $patch: "delete", uid: textAt(first.body, "metadata.uid") }] }
    })
  }),
  "T3, T4: a strategic patch that makes no sense is refused": run(function* (api: Api) {
    yield* api.post(cronJobs, cronJob({}))
    const refused = Effect.fnUntraced(function* (what: string, patch: unknown) {
      const { body, status } = yield* api.quietly("PATCH", `${cronJobs}/d`, patch, {
        type: types.strategic
      })
      yield* api.note(what, { status, reason: textAt(body, "reason") })
    })
    yield* refused("a directive that is none", podSpec({ $patch: "sideways" }))
    yield* refused("an item without its key", podSpec({ containers: [{ image: "b:1" }] }))
    yield* refused("a list for an object", { spec: [] })
    yield* refused("no object", [])
    yield* refused("a text", '"x"')
  }),
  "T3, T4: conditions of a Pod merge by type": run(function* (api: Api) {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } }
    const spec = { automountServiceAccountToken: false, containers: [{ name: "a", image: "a:1" }] }
    yield* api.until("~/serviceaccounts/default", ({ status }) => status === 200)
    yield* api.quietly("POST", "~/pods", { ...pod, spec })
    const condition = (type: string, status: string) => ({ type, status })
    const patched = Effect.fnUntraced(function* (...conditions: ReadonlyArray<object>) {
      const { body } = yield* api.quietly(
        "PATCH",
        "~/pods/p/status",
        { status: { conditions } },
        {
          type: types.strategic
        }
      )
      yield* api.note(
        "the conditions",
        [0, 1, 2].map((index) => {
          const each = `status.conditions.${index}`
          return `${textAt(body, `${each}.type`)} ${textAt(body, `${each}.status`)}`
        })
      )
    })
    yield* patched(condition("example.com/A", "True"), condition("example.com/B", "False"))
    yield* patched(condition("example.com/B", "True"))
    yield* patched({ $patch: "delete", type: "example.com/A" })
  }),
  "T3, T4: a JSON patch reaches into lists": run(function* (api: Api) {
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }))
    yield* api.post(path, gadget("g", { list: ["a", "b"] }))
    yield* api.json(`${path}/g`, [
      { op: "add", path: "/spec/list/0", value: "z" },
      { op: "add", path: "/spec/list/-", value: "c" },
      { op: "remove", path: "/spec/list/1" },
      { op: "replace", path: "/spec/list/0", value: { deep: [1] } },
      { op: "add", path: "/spec/list/0/deep/-", value: null }
    ])
    yield* api.json(`${path}/g`, [{ op: "add", path: "/spec/list/9", value: "x" }])
    yield* api.json(`${path}/g`, [{ op: "remove", path: "/spec/list/9" }])
    yield* api.json(`${path}/g`, [{ op: "replace", path: "/spec/list/-1", value: "last" }])
    yield* api.json(`${path}/g`, [{ op: "test", path: "/spec/list/1", value: "b" }])
  }),
  "T3, T4: a slash in a key of a JSON patch is written ~1": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", annotations: { "e.com/a": "1" } } }))
    yield* api.json("~/configmaps/a", [
      { op: "test", path: "/metadata/annotations/e.com~1a", value: "1" },
      { op: "replace", path: "/metadata/annotations/e.com~1a", value: "2" },
      { op: "add", path: "/metadata/annotations/e.com~1b", value: "~0" }
    ])
    yield* api.json("~/configmaps/a", [{ op: "add", path: "/metadata/labels/app", value: "x" }])
    yield* api.json("~/configmaps/a", [{ op: "add", path: "/metadata/labels", value: { app: "x" } }])
  }),
  "T3, T4: a JSON patch that tests the version is a compare and swap": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("a"))
    const tested = (value: string) => [
      { op: "test", path: "/metadata/resourceVersion", value: textAt(body, "metadata.resourceVersion") },
      { op: "replace", path: "/data/x", value }
    ]
    yield* api.json("~/configmaps/a", tested("2"))
    yield* api.json("~/configmaps/a", tested("3"))
    yield* api.json("~/configmaps/a", [{ op: "test", path: "/data/none", value: null }])
    yield* api.json("~/configmaps/a", [{ op: "test", path: "/data/none", value: "x" }])
  }),
  "T3, T4: a JSON patch copies, moves, and says nothing of what it does not know": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.json("~/configmaps/a", [{ op: "move", from: "/data/none", path: "/data/y" }])
    yield* api.json("~/configmaps/a", [{ op: "sideways", path: "/data/x" }])
    yield* api.json("~/configmaps/a", [{ op: "remove" }])
    yield* api.json("~/configmaps/a", [])
    yield* api.json("~/configmaps/a", [{ op: "replace", path: "/metadata/name", value: "b" }])
    yield* api.json("~/configmaps/a", [{ op: "remove", path: "/metadata/resourceVersion" }])
    const other = [{ op: "replace", path: "/kind", value: "Secret" }]
    const { body, status } = yield* api.quietly("PATCH", "~/configmaps/a", other, { type: types.json })
    yield* api.note("another kind", { status, reason: textAt(body, "reason") })
  }),
  "T3, T4: a JSON patch of more than ten thousand operations is too large": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", configMap("a"))
    yield* api.json(
      "~/configmaps/a",
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/x", value: "1" }))
    )
  }),
  "T3, T4: a merge patch replaces lists, and null does not stay": run(function* (api: Api) {
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }))
    yield* api.post(path, gadget("g", { list: [{ name: "a", x: 1 }], deep: { a: { b: 1, c: 1 } } }))
    yield* api.merge(`${path}/g`, { spec: { list: [{ name: "a" }], deep: { a: { b: null, d: { e: null } } } } })
    yield* api.merge(`${path}/g`, { spec: { list: [null], deep: null } })
    yield* api.merge(`${path}/g`, { spec: null })
  }),
  "T3, T4: a merge patch that is no object, or makes none, is refused": run(function* (api: Api) {
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }))
    yield* api.post(path, gadget("g"))
    const refused = Effect.fnUntraced(function* (what: string, patch: unknown) {
      const { body, status } = yield* api.quietly("PATCH", `${path}/g`, patch)
      yield* api.note(what, { status, reason: textAt(body, "reason") })
    })
    yield* refused("a list", [])
    yield* refused("half an object", "{")
    yield* refused("nothing", "")
    yield* api.merge(`${path}/g`, { spec: "text" })
    yield* api.merge(`${path}/g`, { metadata: null })
    yield* api.merge(`${path}/g`, { kind: "Widget" })
    yield* api.merge(`${path}/g`, {})
  }),
  "T3, T4: a patch is recorded for its manager, or for the client's name": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.send("PATCH", "~/configmaps/a?fieldManager=kubectl-edit", { data: { y: "1" } })
    yield* api.merge("~/configmaps/a", { data: { z: "1" } })
    yield* api.send("PATCH", "~/configmaps/a?fieldManager=kubectl-edit", { data: { y: null, x: "2" } })
  })
})
