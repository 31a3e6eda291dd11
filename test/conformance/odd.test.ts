/** Requests that clients seldom send, and that a server answers all the same. */
import { Effect } from "effect"
import { type Answer, type Api, types } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap, gadget, gadgets, path } from "./support/kinds.ts"
import { at, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const anyUid = "00000000-0000-0000-0000-000000000000"
const labelled = (name: string, more: object = {}) =>
  configMap(name, { metadata: { name, labels: { mine: "yes" }, ...more } })
const mine = "~/configmaps?labelSelector=mine"
const tokenOf = ({ body }: Answer) => encodeURIComponent(textAt(body, "metadata.continue"))
const versionOf = ({ body }: Answer) => textAt(body, "metadata.resourceVersion")
const podSpec = (more: object = {}) => ({ restartPolicy: "Never", containers: [{ name: "a", image: "a:1" }], ...more })
const cronJobs = "/apis/batch/v1/namespaces/{ns}/cronjobs"
const cronJob = (spec: unknown) => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name: "c" },
  spec: { suspend: true, schedule: "0 0 1 1 *", jobTemplate: { spec: { template: { spec } } } }
})
/** What an answer says beside its words, which name types of Go. */
const told = (api: Api, what: string, { body, status }: Answer) =>
  api.note(what, {
    status,
    reason: textAt(body, "reason"),
    field: textAt(body, "details.causes.0.field"),
    kind: textAt(body, "kind")
  })

conform("odd", {
  "T3, T4: the last page of a selection may be empty, and one name is no page": run(function* (api: Api) {
    yield* api.define(gadgets())
    for (const name of ["a", "b", "c", "d"]) {
      const labels = { mine: name === "b" || name === "c" ? "yes" : "no" }
      yield* api.quietly("POST", path, gadget(name, {}, { metadata: { name, labels } }))
    }
    const selected = `${path}?labelSelector=mine%3Dyes`
    const first = yield* api.get(`${selected}&limit=1`)
    const second = yield* api.get(`${selected}&limit=1&continue=${tokenOf(first)}`)
    yield* api.get(`${selected}&limit=1&continue=${tokenOf(second)}`)
    yield* api.get(`${selected}&limit=2`)
    yield* api.get(`${selected}&limit=3`)
    yield* api.get(`${path}?limit=4`)
    yield* api.get(`/apis/{group}/v1/gadgets?limit=1&labelSelector=mine%3Dyes`)
    yield* api.get(`${path}?limit=1&fieldSelector=metadata.name%3Da`)
  }),
  "T3, T4: a token says itself where it goes on, and is read with care": run(function* (api: Api) {
    yield* Effect.forEach(["a", "b", "c"], (name) => api.quietly("POST", "~/configmaps", labelled(name)))
    const page = yield* api.quietly("GET", `${mine}&limit=1`)
    const token = tokenOf(page)
    yield* api.get(`${mine}&continue=${token}&resourceVersionMatch=Exact`)
    yield* api.get(`${mine}&continue=${token}&resourceVersion=0`)
    yield* api.get(`~/secrets?labelSelector=mine&continue=${token}`)
    const forged = (from: object) =>
      api.get(
        `${mine}&limit=5&continue=${Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", ...from })).toString("base64url")}`
      )
    yield* forged({ rv: -1, start: "b" })
    yield* forged({ rv: -1, start: "/b\u0000" })
    yield* forged({ v: "meta.k8s.io/v2", rv: -1, start: "a" })
    yield* forged({ rv: 0, start: "a" })
    yield* forged({ rv: -1, start: "" })
    yield* forged({ rv: -1, start: "../secrets/a" })
    yield* told(api, "one that is cut", yield* api.quietly("GET", `${mine}&continue=${token.slice(0, -3)}`))
  }),
  "T3, T4: options of a list and of a watch are checked together": run(function* (api: Api) {
    yield* api.get(`${mine}&resourceVersionMatch=Sometimes&sendInitialEvents=true`)
    yield* api.get(`${mine}&resourceVersion=99999999999999999999`)
    yield* api.get(`${mine}&watch=true&resourceVersionMatch=NotOlderThan`)
    yield* api.get(`${mine}&watch=true&resourceVersionMatch=Exact&resourceVersion=5`)
    yield* api.get(`${mine}&watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&continue=x`)
    yield* api.get(`${mine}&fieldSelector=${encodeURIComponent("metadata.name=a\\q")}`)
    yield* api.get("/apis/batch/v1/namespaces/{ns}/jobs?fieldSelector=status.failed%3D1")
    yield* api.get("/apis/apps/v1/namespaces/{ns}/replicasets?fieldSelector=status.replicas%3D0")
  }),
  "T3, T4: version zero is any version, and a version is a number": run(function* (api: Api) {
    const of = (resourceVersion: string) => ({ name: "a", resourceVersion })
    yield* api.quietly("POST", "~/configmaps", configMap("a"))
    yield* api.put("~/configmaps/a", configMap("a", { metadata: of("0"), data: { x: "2" } }))
    yield* api.put("~/configmaps/a", configMap("a", { metadata: of("abc") }))
    yield* api.put("~/configmaps/a", configMap("a", { metadata: of("99999999") }))
    yield* api.merge("~/configmaps/a", { metadata: { resourceVersion: "0" }, data: { x: "3" } })
    yield* api.define(gadgets())
    yield* api.quietly("POST", path, gadget("a"))
    yield* api.put(`${path}/a`, gadget("a", {}, { metadata: of("0") }))
    yield* api.put(`${path}/a`, gadget("a", {}, { metadata: of("abc") }))
    yield* api.merge(`${path}/a`, { metadata: { resourceVersion: "0" } })
  }),
  "T3, T4: a prefix for names is a field like others once the name is there": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", generateName: "gen-" } }))
    yield* api.merge("~/configmaps/a", { metadata: { generateName: "other-" } })
    yield* api.put("~/configmaps/a", configMap("a"))
  }),
  "T3, T4: preconditions of a delete hold word by word, and its options have types": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a", { finalizers: ["example.com/held"] }))
    yield* api.remove("~/configmaps/a", { preconditions: { uid: "" } })
    yield* api.remove(mine, { preconditions: { uid: anyUid } })
    yield* api.remove("~/configmaps/a?gracePeriodSeconds=soon")
    yield* api.remove("~/configmaps/a", { apiVersion: "v1", kind: "Pod" })
    yield* api.remove("~/configmaps/a?dryRun=All", { apiVersion: "v2", kind: "DeleteOptions", unknown: 1 })
    const wrong: ReadonlyArray<readonly [string, unknown]> = [
      ["preconditions", { preconditions: 5 }],
      ["a grace period", { gracePeriodSeconds: "5" }],
      ["a dry run", { dryRun: "All" }],
      ["a policy", { propagationPolicy: 5 }],
      ["a list", []]
    ]
    for (const [what, options] of wrong) {
      yield* told(api, `${what} of another type`, yield* api.quietly("DELETE", "~/configmaps/a", options))
      yield* told(api, `${what} of another type, of many`, yield* api.quietly("DELETE", mine, options))
    }
    yield* told(api, "half a text", yield* api.quietly("DELETE", "~/configmaps/a", "{"))
    yield* api.get(mine)
    yield* api.remove("~/configmaps/a?orphanDependents=false&dryRun=All")
    yield* api.remove("~/configmaps/a?orphanDependents=perhaps")
    yield* api.remove("~/configmaps/a", { orphanDependents: false })
  }),
  "T3, T4: a JSON patch may leave the kind out, and cannot add a whole": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", configMap("a"))
    const patched = (...operations: ReadonlyArray<object>) => api.json("~/configmaps/a?dryRun=All", operations)
    yield* patched({ op: "remove", path: "/kind" })
    yield* patched({ op: "add", path: "", value: configMap("a") })
    yield* patched({ op: "replace", path: "", value: configMap("a", { data: { y: "1" } }) })
    yield* patched({ op: "add", path: "/data/y" })
    yield* patched({ op: "test", path: "/data/none", value: "1" })
    yield* patched({ op: "test", path: "/data/none", value: null })
    yield* patched()
    yield* api.send("PATCH", "~/configmaps/a", "null", { type: types.json })
    yield* api.send("PATCH", "~/configmaps/a", "null", { type: types.merge })
    yield* api.send("PATCH", "~/configmaps/a", "5", { type: types.merge })
    yield* api.send("PATCH", "~/configmaps/a")
    yield* api.send("PATCH", "~/configmaps/none", "{}", { type: "text/plain" })
  }),
  "T3, T4: a patch cannot take its type from a custom object": run(function* (api: Api) {
    yield* api.define(gadgets())
    yield* api.quietly("POST", path, gadget("g"))
    const patched = (what: string, patch: unknown) =>
      Effect.flatMap(api.quietly("PATCH", `${path}/g`, patch), (answer) => told(api, what, answer))
    yield* patched("no kind", { kind: null })
    yield* patched("another kind", { kind: "Other" })
    yield* patched("no version", { apiVersion: null })
    yield* patched("another version", { apiVersion: "v1" })
    yield* patched("labels that are no texts", { metadata: { labels: { a: 5 } } })
    yield* patched("finalizers that are no list", { metadata: { finalizers: "a" } })
  }),
  "T3, T4: directives of a strategic patch where there is nothing, or no sense in them": run(function* (api: Api) {
    const volumes = [
      { name: "v", emptyDir: {} },
      { name: "w", emptyDir: {} }
    ]
    yield* api.quietly("POST", cronJobs, cronJob(podSpec({ volumes })))
    const patched = (patch: unknown) => api.strategic(`${cronJobs}/c?dryRun=All`, patch)
    const ofPod = (spec: unknown) => patched({ spec: { jobTemplate: { spec: { template: { spec } } } } })
    yield* patched({ $patch: "delete" })
    yield* patched({ metadata: { labels: { $patch: "replace", a: "b" } } })
    yield* ofPod({ volumes: [{ name: "v", $patch: "replace", emptyDir: {} }] })
    yield* ofPod({ containers: [{ name: "a", $patch: "sideways" }] })
    yield* ofPod({ containers: [{ name: "a", $patch: "merge" }] })
    yield* ofPod({ "$setElementOrder/containers": [{ name: "b" }], containers: [{ name: "c", image: "b:1" }] })
    yield* ofPod({ volumes: [{ name: "v", configMap: { name: "x" }, $retainKeys: ["name", "configMap"] }] })
  }),
  "T3, T4: nulls and empty lists of a built-in kind become what a typed object makes of them": run(function* (
    api: Api
  ) {
    yield* api.post("~/configmaps", configMap("a", { data: { x: null }, metadata: { name: "a", labels: { k: null } } }))
    yield* api.post("~/secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      data: { a: null },
      stringData: { b: null }
    })
    const lists = { volumes: [], tolerations: [], imagePullSecrets: [], initContainers: [] }
    const container = { name: "a", image: "a:1", args: [], env: [], ports: [], volumeMounts: [] }
    yield* api.post(cronJobs, cronJob({ ...podSpec(lists), containers: [container] }))
    yield* api.post("/apis/batch/v1/namespaces/{ns}/jobs", {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "j" },
      spec: { suspend: true, template: { metadata: { labels: { a: "b" } }, spec: podSpec() } }
    })
    yield* api.define(gadgets())
    yield* api.post(path, gadget("g", {}, { metadata: { name: "g", annotations: { a: null }, finalizers: [] } }))
  }),
  "T3, T4: metadata of another type is refused": run(function* (api: Api) {
    yield* api.define(gadgets())
    const wrong: ReadonlyArray<unknown> = [
      { name: 5 },
      { name: "a", labels: { a: 5 } },
      { name: "a", annotations: "a" },
      { name: "a", finalizers: {} },
      "a"
    ]
    for (const metadata of wrong) {
      const what = JSON.stringify(metadata)
      yield* told(api, what, yield* api.quietly("POST", "~/configmaps", { ...configMap("a"), metadata }))
      if (typeof metadata === "object") {
        yield* told(api, `${what}, custom`, yield* api.quietly("POST", path, gadget("a", {}, { metadata })))
      }
    }
  }),
  "T3, T4: an apply of a value of another type is refused": run(function* (api: Api) {
    const applied = (where: string, object: object) =>
      Effect.flatMap(
        api.quietly("PATCH", `${where}?fieldManager=m`, object, { type: types.apply }),
        ({ body, status }) => api.note(JSON.stringify(object).slice(0, 90), { status, reason: textAt(body, "reason") })
      )
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }
    for (const data of [{ a: 5 }, [], "a"]) yield* applied("~/configmaps/a", { ...map, data })
    const properties = {
      text: { type: "string" },
      count: { type: "integer" },
      on: { type: "boolean" },
      list: { type: "array", items: { type: "string" } },
      port: { "x-kubernetes-int-or-string": true }
    }
    yield* api.define(gadgets({ properties }))
    for (const spec of [
      { text: 5 },
      { count: "a" },
      { on: "a" },
      { list: {} },
      { list: [5] },
      { port: 5 },
      { text: null }
    ])
      yield* applied(`${path}/g`, gadget("g", spec))
    yield* api.apply("~/configmaps/a", "m", { ...map, data: { a: "1" } })
    yield* api.apply("~/configmaps/a", "m", { apiVersion: "v1", kind: "ConfigMap", data: { a: "2" } })
    yield* api.apply("~/configmaps/a", "a%0Ab", map)
  }),
  "T3, T4: managers are forgotten by an empty list as well": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", configMap("a"))
    yield* api.merge("~/configmaps/a", { metadata: { managedFields: [] } })
    yield* api.apply("~/configmaps/a", "two", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a" },
      data: { y: "1" }
    })
    yield* api.merge("~/configmaps/a", { metadata: { managedFields: null } })
    yield* api.put("~/configmaps/a", configMap("a", { metadata: { name: "a", managedFields: [] } }))
    yield* api.put("~/configmaps/a", configMap("a", { data: { x: "2" } }))
  }),
  "T3, T4: the status of a built-in kind takes metadata along, that of a custom kind none": run(function* (api: Api) {
    const patch = {
      metadata: {
        labels: { l: "1" },
        annotations: { a: "1" },
        finalizers: ["example.com/held"],
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: anyUid }]
      }
    }
    const written = Effect.fnUntraced(function* (
      where: string,
      object: { readonly kind: string; readonly [field: string]: unknown }
    ) {
      yield* api.quietly("POST", where, { ...object, metadata: { name: "a", labels: { own: "1" } } })
      const { body, status } = yield* api.quietly("PATCH", `${where}/a/status`, patch)
      const metadata = Object.fromEntries(
        Object.keys(patch.metadata).map((name) => [name, at(body, `metadata.${name}`) ?? "none"])
      )
      yield* api.note(object.kind, { status, ...metadata })
      yield* api.quietly("PATCH", `${where}/a`, { metadata: { finalizers: null, ownerReferences: null } })
    })
    const template = { metadata: { labels: { a: "b" } }, spec: podSpec({ restartPolicy: "Always" }) }
    const deployment = { paused: true, replicas: 0, selector: { matchLabels: { a: "b" } }, template }
    yield* written("/apis/apps/v1/namespaces/{ns}/deployments", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      spec: deployment
    })
    yield* written("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      spec: { minAvailable: 1 }
    })
    yield* written(cronJobs, cronJob(podSpec()))
    yield* api.define(gadgets())
    yield* written(path, gadget("a"))
    yield* api.remove(`${path}/a/status`)
    yield* api.send("POST", `${path}/a/status`, gadget("a"))
  }),
  "T3, T4: YAML is that of 1.1, and the last of two keys counts": run(function* (api: Api) {
    const yaml = (...data: ReadonlyArray<string>) =>
      api.quietly(
        "POST",
        "~/configmaps?dryRun=All",
        [
          "apiVersion: v1",
          "kind: ConfigMap",
          "metadata:",
          "  name: a",
          "data:",
          ...data.map((line) => `  ${line}`)
        ].join("\n"),
        { type: "application/yaml" }
      )
    const tried = Effect.fnUntraced(function* (...data: ReadonlyArray<string>) {
      const { body, status } = yield* yaml(...data)
      yield* api.note(data.join("; "), { status, data: at(body, "data") ?? "none" })
    })
    yield* tried("a: 'y'", "day: 2001-01-01", "time: 1:30x")
    yield* tried("a: y")
    yield* tried("a: on")
    yield* tried("a: 0644")
    yield* tried("a: one", "a: two")
  }),
  "T3, T4: a form is asked for by group, version and number": run(function* (api: Api) {
    yield* api.quietly("POST", "~/configmaps", labelled("a"))
    const asked = Effect.fnUntraced(function* (accept: string, where: string) {
      const { body, status } = yield* api.quietly("GET", where, undefined, { accept })
      yield* api.note(`${accept} of ${where}`, {
        status,
        kind: textAt(body, "kind"),
        apiVersion: textAt(body, "apiVersion")
      })
    })
    const form = (as: string, version: string, group: string) => `application/json;as=${as};v=${version};g=${group}`
    for (const where of ["~/configmaps/a", mine]) {
      yield* asked(form("Table", "v1", "example.com"), where)
      yield* asked("application/json;as=Table;g=meta.k8s.io", where)
      yield* asked("application/json;as=Table;v=v1", where)
      yield* asked(`${form("Table", "v1", "example.com")},application/json`, where)
    }
    yield* api.get("~/configmaps/a", { accept: form("PartialObjectMetadataList", "v1", "meta.k8s.io") })
    yield* api.get("~/configmaps", { accept: form("PartialObjectMetadata", "v1", "meta.k8s.io") })
    yield* api.get(`${mine}&includeObject=Sometimes`, { accept: form("Table", "v1", "meta.k8s.io") })
    yield* asked(form("APIGroupDiscoveryList", "v2", "apidiscovery.k8s.io"), "/api")
    yield* asked(form("APIGroupDiscoveryList", "v9", "apidiscovery.k8s.io"), "/api")
  }),
  "T3, T4: a foreground delete becomes one in the background when it is asked for again": run(function* (api: Api) {
    const owner = yield* api.quietly("POST", "~/configmaps", configMap("owner"))
    const ownerReferences = [
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: "owner",
        uid: textAt(owner.body, "metadata.uid"),
        blockOwnerDeletion: true
      }
    ]
    yield* api.quietly(
      "POST",
      "~/configmaps",
      configMap("held", { metadata: { name: "held", ownerReferences, finalizers: ["example.com/held"] } })
    )
    yield* api.remove("~/configmaps/owner", { propagationPolicy: "Foreground" })
    yield* api.until("~/configmaps/held", ({ body }) => at(body, "metadata.deletionTimestamp") !== undefined)
    yield* api.remove("~/configmaps/owner", { propagationPolicy: "Background" })
    yield* api.until("~/configmaps/owner", ({ status }) => status === 404)
    yield* api.get("~/configmaps/held")
  }),
  "T3, T4: a watch by label follows an object in and out, now and from before": run(function* (api: Api) {
    const label = (mine: string | null) => api.quietly("PATCH", "~/configmaps/a", { metadata: { labels: { mine } } })
    const then = versionOf(yield* api.quietly("POST", "~/configmaps", configMap("a")))
    const selected = `~/configmaps?labelSelector=mine%3Dyes&watch=true&resourceVersion=${then}`
    const live = yield* api.watch(selected)
    yield* label("yes")
    yield* api.quietly("PATCH", "~/configmaps/a", { data: { x: "2" } })
    yield* label(null)
    yield* api.quietly("PATCH", "~/configmaps/a", { data: { x: "3" } })
    yield* label("yes")
    yield* api.quietly("DELETE", "~/configmaps/a")
    yield* live.take(5)
    const later = yield* api.watch(`${selected}&timeoutSeconds=1`)
    yield* later.rest
  })
})
