import { Effect } from "effect"
import { type Api, types } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap, gadgets, path } from "./support/kinds.ts"
import { at, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
conform("objects", {
  "T3, T4: a create answers with the whole object, and a get with the same": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.get("~/configmaps/a")
  }),
  "T3, T4: a second create of the same name is refused": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.post("~/configmaps", configMap("a"))
  }),
  "T3, T4: what is not there is not found, an object or a kind": run(function* (api: Api) {
    yield* api.get("~/configmaps/a")
    yield* api.remove("~/configmaps/a")
    yield* api.merge("~/configmaps/a", {})
    yield* api.get("/apis/{group}/v1/widgets")
  }),
  "T3, T4: a create in a namespace that is not there is refused": run(function* (api: Api) {
    yield* api.post("/api/v1/namespaces/nowhere/configmaps", configMap("a"))
  }),
  "T3, T4: a create must be of the path's kind, version and namespace": run(function* (api: Api) {
    yield* api.post("~/configmaps", { ...configMap("a"), kind: "Pod" })
    yield* api.post("~/configmaps", { ...configMap("a"), apiVersion: "v2" })
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", namespace: "other" } }))
  }),
  "T3, T4: a body that is no JSON, or empty, is a bad request": run(function* (api: Api) {
    for (const body of ["{", "", "[]"]) {
      const { body: said, status } = yield* api.quietly("POST", "~/configmaps", body)
      yield* api.note(`a create of ${body}`, { status, reason: textAt(said, "reason") })
    }
  }),
  "T3, T4: names are checked": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("Not_A_Name"))
    yield* api.post("~/configmaps", configMap("a".repeat(254)))
    yield* api.post("~/configmaps", { ...configMap(""), metadata: {} })
    yield* api.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "a.b" } })
  }),
  "T3, T4: labels, annotations and finalizers are checked": run(function* (api: Api) {
    yield* api.post(
      "~/configmaps",
      configMap("a", { metadata: { name: "a", labels: { "bad key": "x", k: "bad value" } } })
    )
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", annotations: { "a/b/c": "x" } } }))
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", finalizers: ["nothing"] } }))
  }),
  "T3, T4: generateName makes a name of five more letters": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("", { metadata: { generateName: "gen-" } }))
    yield* api.post("~/configmaps", configMap("given", { metadata: { generateName: "gen-", name: "given" } }))
  }),
  "T3, T4: an update replaces the whole object": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", labels: { k: "v" } } }))
    yield* api.put("~/configmaps/a", { ...configMap("a"), data: { y: "2" } })
  }),
  "T3, T4: an update that changes nothing keeps the version": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.put("~/configmaps/a", configMap("a"))
  }),
  "T3, T4: an update of an older version is a conflict": run(function* (api: Api) {
    const { body } = yield* api.post("~/configmaps", configMap("a"))
    yield* api.put("~/configmaps/a", { ...configMap("a"), data: { x: "2" } })
    const metadata = { name: "a", resourceVersion: textAt(body, "metadata.resourceVersion") }
    yield* api.put("~/configmaps/a", configMap("a", { metadata }))
  }),
  "T3, T4: an update of another uid is a conflict": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.put(
      "~/configmaps/a",
      configMap("a", { metadata: { name: "a", uid: "00000000-0000-0000-0000-000000000000" } })
    )
  }),
  "T3, T4: an update of another name, and of what is not there": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.put("~/configmaps/a", configMap("b"))
    yield* api.put("~/configmaps/b", configMap("b"))
  }),
  "T3, T4: a create with a version is refused": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", resourceVersion: "1" } }))
  }),
  "T3, T4: a dry run answers as if, and stores nothing": run(function* (api: Api) {
    yield* api.post("~/configmaps?dryRun=All", configMap("a"))
    yield* api.get("~/configmaps/a")
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.put("~/configmaps/a?dryRun=All", { ...configMap("a"), data: { x: "2" } })
    yield* api.remove("~/configmaps/a?dryRun=All")
    yield* api.get("~/configmaps/a")
    yield* api.post("~/configmaps?dryRun=Some", configMap("b"))
  }),
  "T3, T4: an unknown field of a built-in kind is dropped, warned of, or refused, as asked": run(function* (api: Api) {
    const odd = configMap("a", { colour: "red" })
    yield* api.post("~/configmaps?fieldValidation=Warn&dryRun=All", odd)
    yield* api.post("~/configmaps?fieldValidation=Strict&dryRun=All", odd)
    yield* api.post("~/configmaps?fieldValidation=Ignore&dryRun=All", odd)
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", color: "red" } }))
    const { body, status } = yield* api.quietly("PATCH", "~/configmaps/a?fieldValidation=Strict", { colour: "red" })
    yield* api.note("a strict patch", { status, reason: textAt(body, "reason") })
    yield* api.merge("~/configmaps/a", { colour: "red", data: { y: "1" } })
    yield* api.apply("~/configmaps/a", "one", odd)
  }),
  "T3, T4: an unknown field deep in a built-in kind is found by its path": run(function* (api: Api) {
    const container = {
      name: "a",
      image: "a:1",
      imag: "a:2",
      env: [{ name: "A", valeu: "1" }],
      resources: { limit: {} }
    }
    const spec = { restartPolicy: "Never", containers: [container], volume: [] }
    const cronJob = {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "d" },
      spec: { schedule: "0 0 1 1 *", suspend: true, jobTemplate: { spec: { template: { spec } } } }
    }
    const cronJobs = "/apis/batch/v1/namespaces/{ns}/cronjobs"
    yield* api.post(`${cronJobs}?fieldValidation=Strict`, cronJob)
    yield* api.post(cronJobs, cronJob)
  }),
  "T3, T4: a field that is given twice is warned of, or refused": run(function* (api: Api) {
    const twice =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"k":"1","k":"2"}},"data":{"x":"1","x":"2"}}'
    yield* api.send("POST", "~/configmaps?fieldValidation=Strict", twice)
    yield* api.send("POST", "~/configmaps?fieldValidation=Warn", twice)
    yield* api.send("PUT", "~/configmaps/a?fieldValidation=Ignore", twice)
    yield* api.define(gadgets({ "x-kubernetes-preserve-unknown-fields": true }))
    const gadget = '{"apiVersion":"{group}/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"list":[{"a":1,"a":2}]}}'
    yield* api.send("POST", `${path}?fieldValidation=Strict`, gadget)
    yield* api.send("POST", `${path}?fieldValidation=Warn`, gadget)
  }),
  "T3, T4: an object that is too large is refused": run(function* (api: Api) {
    yield* api.post("~/configmaps", { ...configMap("a"), data: { x: "x".repeat(1_048_577) } })
    yield* api.post("~/secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a" },
      data: { x: Buffer.alloc(1_048_577).toString("base64") }
    })
  }),
  "T3, T4: annotations are bounded in sum": run(function* (api: Api) {
    yield* api.post(
      "~/configmaps",
      configMap("a", { metadata: { name: "a", annotations: { a: "x".repeat(262_145) } } })
    )
  }),
  "T3, T4: stringData becomes data": run(function* (api: Api) {
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }
    yield* api.post("~/secrets", { ...secret, data: { a: "eA==", b: "eA==" }, stringData: { b: "y", c: "z" } })
    yield* api.merge("~/secrets/a", { stringData: { c: "zz" } })
    yield* api.post("~/secrets", { ...secret, metadata: { name: "b" }, data: { a: "no base64!" } })
  }),
  "T3, T4: what is immutable stays": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { immutable: true }))
    yield* api.merge("~/configmaps/a", { data: { x: "2" } })
    yield* api.merge("~/configmaps/a", { immutable: false })
    yield* api.merge("~/configmaps/a", { metadata: { labels: { k: "v" } } })
    yield* api.post("~/secrets", { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, type: "Opaque" })
    yield* api.merge("~/secrets/a", { type: "other" })
  }),
  "T3, T4: the type of a Secret asks for its keys": run(function* (api: Api) {
    const secret = (type: string) => ({ apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, type })
    yield* api.post("~/secrets", secret("kubernetes.io/tls"))
    yield* api.post("~/secrets", secret("kubernetes.io/basic-auth"))
    yield* api.post("~/secrets", secret("kubernetes.io/dockerconfigjson"))
  }),
  "T3, T4: keys of a ConfigMap are checked, and may not stand in both kinds of data": run(function* (api: Api) {
    yield* api.post("~/configmaps", { ...configMap("a"), data: { "a b": "x", "..": "x" } })
    yield* api.post("~/configmaps", { ...configMap("a"), data: { x: "1" }, binaryData: { x: "eA==" } })
  }),
  "T3, T4: a Lease is written by compare and swap": run(function* (api: Api) {
    const path = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    const lease = (spec: object, metadata: object = {}) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l", ...metadata },
      spec
    })
    const spec = { holderIdentity: "a", leaseDurationSeconds: 30, acquireTime: "2026-01-01T00:00:00.000000Z" }
    const { body } = yield* api.post(path, lease(spec))
    const resourceVersion = textAt(body, "metadata.resourceVersion")
    yield* api.put(`${path}/l`, lease({ ...spec, holderIdentity: "b" }, { resourceVersion }))
    yield* api.put(`${path}/l`, lease({ ...spec, holderIdentity: "c" }, { resourceVersion }))
    yield* api.put(`${path}/l`, lease(spec))
    yield* api.post(path, lease({ leaseDurationSeconds: 0 }, { name: "m" }))
  }),
  "T3, T4: an Event is one thing in two groups": run(function* (api: Api) {
    const event = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "e" },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "example.com/c",
      reportingInstance: "c-1",
      action: "Provision",
      reason: "Provisioned",
      regarding: { apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "{ns}" },
      note: "It is there.",
      type: "Normal"
    }
    yield* api.post("/apis/events.k8s.io/v1/namespaces/{ns}/events", event)
    yield* api.get("~/events/e")
  }),
  "T3, T4: an Event of events.k8s.io is checked": {
    run: run(function* (api: Api) {
      yield* api.post("/apis/events.k8s.io/v1/namespaces/{ns}/events", {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name: "e" },
        eventTime: "2026-01-01T00:00:00.000000Z",
        type: "Odd"
      })
    }),
    differs: "Events are taken as they are, without the checks of events.k8s.io."
  },
  "T3, T4: the order of writes is the order of versions": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.post("~/configmaps", configMap("b"))
    yield* api.merge("~/configmaps/a", { data: { x: "2" } })
    yield* api.get("~/configmaps/b")
  }),
  "T3, T4: a method or a content type that is not there is refused": run(function* (api: Api) {
    yield* api.send("PATCH", "~/configmaps", {})
    yield* api.post("~/configmaps/a", configMap("a"))
    yield* api.send("POST", "~/configmaps", "x", { type: "text/plain" })
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.send("PATCH", "~/configmaps/a", {}, { type: "application/json" })
    yield* api.get("~/configmaps/a", { accept: "text/html" })
  }),
  "T3, T4: a namespace has its label, its finalizer and its phase": run(function* (api: Api) {
    const { body } = yield* api.get("/api/v1/namespaces/{ns}")
    yield* api.merge("/api/v1/namespaces/{ns}", { metadata: { labels: { "kubernetes.io/metadata.name": "other" } } })
    yield* api.merge("/api/v1/namespaces/{ns}", { metadata: { labels: { team: at(body, "status.phase") } } })
  }),
  "T3, T4: metadata alone is given where it is asked for": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", labels: { mine: "yes" } } }))
    yield* api.get("~/configmaps/a", { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" })
    yield* api.get("~/configmaps?labelSelector=mine", {
      accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    })
  }),
  "T3, T4: tables have the columns of the kind": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a", { metadata: { name: "a", labels: { mine: "yes" } } }))
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    yield* api.get("~/configmaps/a", { accept })
    yield* api.get("~/configmaps?labelSelector=mine&includeObject=None", { accept })
    yield* api.get("~/configmaps?labelSelector=nobody", { accept })
  }),
  "T3, T4: a strategic merge patch is for built-in kinds": run(function* (api: Api) {
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.send("PATCH", "~/configmaps/a", { data: { y: "2", x: null } }, { type: types.strategic })
  }),
  "T3, T4: most built-in kinds take a finalizer without a domain only of Kubernetes' own": run(function* (api: Api) {
    const metadata = { name: "a", finalizers: ["finalizers.fluxcd.io"] }
    const own = { name: "a", finalizers: ["orphan"] }
    yield* api.post("~/configmaps", configMap("a", { metadata }))
    yield* api.post("~/configmaps?dryRun=All", configMap("a", { metadata: own }))
    yield* api.post("~/configmaps", configMap("a"))
    yield* api.merge("~/configmaps/a", { metadata })
    yield* api.merge("~/configmaps/a", { metadata: { finalizers: ["-x"] } })

    const others: ReadonlyArray<readonly [apiVersion: string, kind: string, plural: string, more: object]> = [
      ["coordination.k8s.io/v1", "Lease", "leases", { spec: { holderIdentity: "a" } }],
      ["rbac.authorization.k8s.io/v1", "Role", "roles", {}],
      ["discovery.k8s.io/v1", "EndpointSlice", "endpointslices", { addressType: "IPv4", endpoints: [] }],
      ["policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", { spec: { minAvailable: 1 } }]
    ]
    for (const [apiVersion, kind, plural, more] of others) {
      const path = `/apis/${apiVersion}/namespaces/{ns}/${plural}`
      yield* api.post(`${path}?dryRun=All`, { apiVersion, kind, metadata, ...more })
    }
    const involvedObject = { kind: "ConfigMap", namespace: "{ns}", name: "a" }
    yield* api.post("~/events?dryRun=All", { apiVersion: "v1", kind: "Event", metadata, involvedObject })
    yield* api.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All", {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { ...metadata, name: "berth-conformance" }
    })
  })
})
