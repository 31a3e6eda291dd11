import { Effect } from "effect"
import type { Api } from "./support/api.ts"
import { conform } from "./support/conform.ts"
import { configMap } from "./support/kinds.ts"
import { at, textAt } from "./support/normal.ts"

const run = Effect.fnUntraced
const cronJobs = "/apis/batch/v1/namespaces/{ns}/cronjobs"
const cronJob = (spec: object, more: object = {}) => ({
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name: "d" },
  spec: {
    schedule: "0 0 1 1 *",
    suspend: true,
    jobTemplate: {
      spec: {
        template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "a:1", ...spec }], ...more } }
      }
    }
  }
})
const resources = (requests: object, limits: object = {}) => cronJob({ resources: { requests, limits } })
const container = "spec.jobTemplate.spec.template.spec.containers.0"

conform("values", {
  "T3, T4: quantities are written as the server writes them": run(function* (api: Api) {
    const texts = ["1000m", "010", "1024Mi", "1.5Gi", "0.5", "1e3", "1.50", "+5", "1000", "1.5e3", "2000Mi", "0.0"]
    for (const cpu of [...texts, 2, 0.5]) {
      const { body } = yield* api.quietly("POST", `${cronJobs}?dryRun=All`, resources({ cpu }))
      yield* api.note(
        `${typeof cpu} ${cpu}`,
        at(body, `${container}.resources.requests.cpu`) ?? at(body, "message") ?? null
      )
    }
    const hard = { pods: "010", "requests.cpu": "0.1", "limits.memory": "0.5Mi", secrets: 3 }
    yield* api.post("~/resourcequotas?dryRun=All", {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: { hard }
    })
  }),
  "T3, T4: quantities that make no sense are refused": run(function* (api: Api) {
    yield* api.post(cronJobs, resources({ cpu: "2" }, { cpu: "1" }))
    yield* api.post(cronJobs, resources({ cpu: "-1" }))
    yield* api.post(cronJobs, resources({ gpus: "1" }))
    yield* api.post(cronJobs, resources({ "e.com/a": "0.5" }))
    yield* api.post(cronJobs, resources({ "e.com/a": "1" }, { "e.com/a": "2" }))
    yield* api.post(cronJobs, resources({ "e.com/a": "1" }))
    const { body, status } = yield* api.quietly("POST", cronJobs, resources({ cpu: "many" }))
    yield* api.note("a quantity that is none", { status, reason: textAt(body, "reason") })
  }),
  "T3, T4: a Pod's parts are checked by name": run(function* (api: Api) {
    yield* api.post(cronJobs, cronJob({ name: "A_b", image: "" }))
    yield* api.post(cronJobs, cronJob({ volumeMounts: [{ name: "none", mountPath: "/x" }] }))
    yield* api.post(cronJobs, cronJob({ env: [{ name: "", value: "x" }] }))
    yield* api.post(cronJobs, cronJob({ ports: [{ containerPort: 99_999 }] }))
    yield* api.post(cronJobs, cronJob({ imagePullPolicy: "Sometimes" }))
    yield* api.post(cronJobs, cronJob({}, { volumes: [{ name: "v" }, { name: "v", emptyDir: {} }] }))
    yield* api.post(cronJobs, cronJob({}, { restartPolicy: "Sometimes" }))
  }),
  "T3, T4: a Job's template is immutable, and its suspension is not": run(function* (api: Api) {
    const jobs = "/apis/batch/v1/namespaces/{ns}/jobs"
    const template = { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "a:1" }] } }
    const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec: { suspend: true, template } }
    yield* api.post(jobs, job)
    const changed = Effect.fnUntraced(function* (what: string, spec: object) {
      const { body, status } = yield* api.quietly("PATCH", `${jobs}/j?dryRun=All`, { spec })
      yield* api.note(what, { status, field: textAt(body, "details.causes.0.field"), reason: textAt(body, "reason") })
    })
    yield* changed("another backoff limit", { backoffLimit: 2 })
    yield* changed("another completions", { completions: 2 })
    yield* changed("another selector", { selector: { matchLabels: { a: "b" } } })
    yield* changed("another restart policy", { template: { spec: { restartPolicy: "OnFailure" } } })
    yield* changed("parallelism", { parallelism: 2 })
    yield* changed("a negative deadline", { activeDeadlineSeconds: -1 })
  }),
  "T3, T4: what a binding refers to stays": run(function* (api: Api) {
    const bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings"
    const binding = (role: string, subjects: ReadonlyArray<object>) => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "b" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: role },
      subjects
    })
    yield* api.post(bindings, binding("one", [{ kind: "ServiceAccount", name: "default", namespace: "{ns}" }]))
    yield* api.put(`${bindings}/b`, binding("two", []))
    yield* api.put(
      `${bindings}/b`,
      binding("one", [
        { kind: "Group", name: "g" },
        { kind: "Ship", name: "s" }
      ])
    )
    yield* api.put(`${bindings}/b`, binding("one", [{ kind: "ServiceAccount", name: "default" }]))
  }),
  "T3, T4: times of a Lease keep their microseconds": run(function* (api: Api) {
    const leases = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    const lease = (renewTime: unknown) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l" },
      spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime, leaseTransitions: 0 }
    })
    const told = Effect.fnUntraced(function* (renewTime: string) {
      const { body, status } = yield* api.quietly("POST", `${leases}?dryRun=All`, lease(renewTime))
      yield* api.note(renewTime.replace("T", " "), { status, time: textAt(body, "spec.renewTime").replace("T", " ") })
    })
    yield* told("2026-01-01T00:00:00.123456Z")
    yield* told("2026-01-01T00:00:00Z")
    yield* told("2026-01-01T00:00:00.123456789Z")
    yield* told("2026-01-01T01:00:00.5+01:00")
    yield* told("yesterday")
  }),
  "T3, T4: empty lists, maps and texts of a built-in kind are left out": run(function* (api: Api) {
    yield* api.post("~/configmaps", {
      ...configMap("a"),
      metadata: { name: "a", labels: {}, annotations: null, finalizers: [], ownerReferences: null },
      data: {},
      binaryData: null
    })
    yield* api.post("~/secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a" },
      type: "",
      data: null,
      stringData: {}
    })
    yield* api.post("~/serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "a" },
      secrets: [],
      imagePullSecrets: null
    })
  }),
  "T3, T4: a Service of a set has no address, and its ports have names": run(function* (api: Api) {
    const service = (ports: ReadonlyArray<object>) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "s" },
      spec: { clusterIP: "None", selector: { a: "b" }, ports }
    })
    yield* api.post("~/services", service([{ port: 80 }, { port: 81 }]))
    yield* api.post("~/services", service([{ name: "web", port: 80, targetPort: "http" }]))
    yield* api.merge("~/services/s", { spec: { ports: [{ name: "web", port: 0 }] } })
    yield* api.merge("~/services/s", { spec: { clusterIP: "10.224.0.77" } })
  }),
  "T3, T4: binary data of a ConfigMap, and what is no base64": run(function* (api: Api) {
    yield* api.post("~/configmaps", { ...configMap("a"), data: undefined, binaryData: { x: "AAEC" } })
    const { body, status } = yield* api.quietly("POST", "~/configmaps", {
      ...configMap("b"),
      binaryData: { x: "no base64!" }
    })
    yield* api.note("what is no base64", { status, reason: textAt(body, "reason") })
  }),
  "T3, T4: a Secret is immutable as a ConfigMap is": run(function* (api: Api) {
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, immutable: true, data: { x: "eA==" } }
    yield* api.post("~/secrets", secret)
    yield* api.merge("~/secrets/a", { stringData: { x: "y" } })
    yield* api.merge("~/secrets/a", { immutable: null })
    yield* api.put("~/secrets/a", { ...secret, metadata: { name: "a", labels: { k: "v" } } })
    yield* api.remove("~/secrets/a")
  })
})
