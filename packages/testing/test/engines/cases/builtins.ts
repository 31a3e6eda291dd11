/** Objects of built-in kinds, created or changed, each with what it is about. */

export interface Case {
  readonly title: string
  /** The path of the collection. */
  readonly path: string
  readonly object: { readonly [key: string]: unknown }
  /** A merge patch of the created object; absent when the create itself is the question. */
  readonly change?: { readonly [key: string]: unknown }
}

const CORE = "/api/v1/namespaces/default"
const APPS = "/apis/apps/v1/namespaces/default"
const BATCH = "/apis/batch/v1/namespaces/default"

type Spec = { readonly [key: string]: unknown }

const make =
  (path: string, apiVersion: string, kind: string) =>
  (title: string, body: Spec, change?: Spec): Case => ({
    title: `${kind}: ${title}`,
    path,
    object: { apiVersion, kind, ...body, metadata: { name: "g", ...(body["metadata"] as Spec | undefined) } },
    ...(change === undefined ? {} : { change })
  })

const configMap = make(`${CORE}/configmaps`, "v1", "ConfigMap")
const secret = make(`${CORE}/secrets`, "v1", "Secret")
const namespace = make("/api/v1/namespaces", "v1", "Namespace")
const service = make(`${CORE}/services`, "v1", "Service")
const account = make(`${CORE}/serviceaccounts`, "v1", "ServiceAccount")
const pod = make(`${CORE}/pods`, "v1", "Pod")
const claim = make(`${CORE}/persistentvolumeclaims`, "v1", "PersistentVolumeClaim")
const deployment = make(`${APPS}/deployments`, "apps/v1", "Deployment")
const replicaSet = make(`${APPS}/replicasets`, "apps/v1", "ReplicaSet")
const statefulSet = make(`${APPS}/statefulsets`, "apps/v1", "StatefulSet")
const daemonSet = make(`${APPS}/daemonsets`, "apps/v1", "DaemonSet")
const job = make(`${BATCH}/jobs`, "batch/v1", "Job")
const cronJob = make(`${BATCH}/cronjobs`, "batch/v1", "CronJob")
const lease = make("/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io/v1", "Lease")
const role = make("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "rbac.authorization.k8s.io/v1", "Role")
const binding = make(
  "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
  "rbac.authorization.k8s.io/v1",
  "RoleBinding"
)
const policy = make(
  "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
  "networking.k8s.io/v1",
  "NetworkPolicy"
)
const budget = make("/apis/policy/v1/namespaces/default/poddisruptionbudgets", "policy/v1", "PodDisruptionBudget")

const named = (name: string) => ({ metadata: { name } })
const meta = (metadata: Spec) => ({ metadata })
const containers = [{ name: "c", image: "i:1" }]
const labels = { app: "a" }
const template = { metadata: { labels }, spec: { containers } }
const selector = { matchLabels: labels }
const workload = { selector, template }
const never = { spec: { containers, restartPolicy: "Never" } }

const metadata: ReadonlyArray<Case> = [
  configMap("a name in capitals", named("Bad_Name")),
  configMap("a long name", named("a".repeat(254))),
  configMap("no name", named("")),
  configMap("a bad label key", meta({ labels: { "-a": "b" } })),
  configMap("a bad label prefix", meta({ labels: { "A_/b": "c" } })),
  configMap("a label key with two slashes", meta({ labels: { "a/b/c": "d" } })),
  configMap("an empty label key", meta({ labels: { "": "d" } })),
  configMap("a long label key", meta({ labels: { ["a".repeat(64)]: "b" } })),
  configMap("a long label prefix", meta({ labels: { [`${"a".repeat(254)}/b`]: "c" } })),
  configMap("an annotation key with two slashes", meta({ annotations: { "a/b/c": "d" } })),
  configMap("a finalizer with two slashes", meta({ finalizers: ["a/b/c"] })),
  configMap("a bad label value", meta({ labels: { a: "b c" } })),
  configMap("a long label value", meta({ labels: { a: "b".repeat(64) } })),
  configMap("a bad annotation key", meta({ annotations: { "a b": "c" } })),
  configMap("annotations in capitals are lowered", meta({ annotations: { "A.example/B": "c" } })),
  configMap("annotations too long", meta({ annotations: { a: "x".repeat(262144) } })),
  configMap("a bad finalizer", meta({ finalizers: ["a b"] })),
  configMap("a finalizer without a prefix", meta({ finalizers: ["orphan", "other"] })),
  configMap(
    "an owner without a uid",
    meta({ ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "" }] })
  ),
  configMap("an owner of nothing", meta({ ownerReferences: [{}] })),
  configMap(
    "an owner with a bad version",
    meta({ ownerReferences: [{ apiVersion: "a/b/c", kind: "Pod", name: "p", uid: "u" }] })
  ),
  configMap(
    "two controllers",
    meta({
      ownerReferences: [
        { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true },
        { apiVersion: "v1", kind: "Pod", name: "q", uid: "v", controller: true }
      ]
    })
  ),
  configMap(
    "an Event as the owner",
    meta({ ownerReferences: [{ apiVersion: "v1", kind: "Event", name: "p", uid: "u" }] })
  ),
  configMap("the uid may not change", {}, meta({ uid: "h" })),
  namespace("a name with dots", named("a.b")),
  namespace("a long name", named("a".repeat(64))),
  namespace("a name in capitals", named("A")),
  namespace("defaults", named("golden-ns")),
  service("a name that starts with a digit", { ...named("1a"), spec: { ports: [{ port: 80 }] } }),
  account("a name", named("A")),
  role("a name with a colon", { ...named("system:a"), rules: [] }),
  role("a name with a slash", { ...named("a/b") }),
  pod("a long hostname is a name", { ...named("a.b"), spec: { containers, automountServiceAccountToken: false } })
]

const data: ReadonlyArray<Case> = [
  configMap("a bad key", { data: { "a/b": "c" } }),
  configMap("a long key", { data: { ["a".repeat(254)]: "b" } }),
  configMap("too big", { data: { a: "x".repeat(1048577) } }),
  configMap("a key of dots", { data: { "..": "c", "..a": "d" } }),
  configMap("a key twice", { data: { a: "c" }, binaryData: { a: "aGk=" } }),
  configMap("immutable", { immutable: true, data: { a: "b" } }, { data: { a: "c" } }),
  configMap("immutable stays", { immutable: true, data: { a: "b" } }, { immutable: false }),
  configMap("immutable binary data", { immutable: true, binaryData: { a: "aGk=" } }, { binaryData: { a: "aGkh" } }),
  secret("defaults", { stringData: { a: "hi" }, data: { b: "aGk=" } }),
  secret("a bad key", { data: { "a b": "aGk=" } }),
  secret("the type may not change", { type: "a.example/x" }, { type: "a.example/y" }),
  secret("immutable", { immutable: true, data: { a: "aGk=" } }, { data: { a: "aGkh" } }),
  secret("immutable stays", { immutable: true, data: { a: "aGk=" } }, { immutable: null }),
  secret("a TLS secret without data", { type: "kubernetes.io/tls" }),
  secret("a login without data", { type: "kubernetes.io/basic-auth" }),
  secret("a docker config that is no JSON", {
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": "aGk=" }
  }),
  secret("a docker config without data", { type: "kubernetes.io/dockerconfigjson" }),
  secret("a token without an account", { type: "kubernetes.io/service-account-token" }),
  secret("an ssh secret without data", { type: "kubernetes.io/ssh-auth" }),
  secret("too big", { stringData: { a: "x".repeat(1048577) } })
]

const workloads: ReadonlyArray<Case> = [
  deployment("defaults", { spec: workload }),
  deployment("no selector", { spec: { template } }),
  deployment("an empty selector", { spec: { selector: {}, template } }),
  deployment("a selector of other labels", { spec: { selector: { matchLabels: { app: "b" } }, template } }),
  deployment("no containers", { spec: { selector, template: { metadata: { labels }, spec: {} } } }),
  deployment(
    "the selector may not change",
    { spec: workload },
    {
      spec: { selector: { matchLabels: { app: "b" } }, template: { metadata: { labels: { app: "b" } } } }
    }
  ),
  deployment("negative replicas", { spec: { ...workload, replicas: -1 } }),
  deployment("recreate", { spec: { ...workload, strategy: { type: "Recreate" } } }),
  deployment("recreate with parameters", {
    spec: { ...workload, strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } }
  }),
  deployment("an unknown strategy", { spec: { ...workload, strategy: { type: "Slow" } } }),
  deployment("a restart policy", {
    spec: { selector, template: { metadata: { labels }, spec: { containers, restartPolicy: "Never" } } }
  }),
  deployment("an operator of the selector", {
    spec: { selector: { matchExpressions: [{ key: "app", operator: "Is", values: ["a"] }] }, template }
  }),
  replicaSet("defaults", { spec: workload }),
  replicaSet("a selector of other labels", { spec: { selector: { matchLabels: { app: "b" } }, template } }),
  statefulSet("defaults", {
    spec: {
      ...workload,
      serviceName: "s",
      volumeClaimTemplates: [
        {
          metadata: { name: "d" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        }
      ]
    }
  }),
  statefulSet("what may not change", { spec: { ...workload, serviceName: "s" } }, { spec: { serviceName: "t" } }),
  statefulSet("replicas may change", { spec: { ...workload, serviceName: "s" } }, { spec: { replicas: 3 } }),
  daemonSet("defaults", { spec: workload }),
  daemonSet("no selector", { spec: { template } }),
  job("defaults", { spec: { template: never } }),
  job("no restart policy", { spec: { template: { spec: { containers } } } }),
  job(
    "the template may not change",
    { spec: { template: never } },
    { spec: { template: { spec: { containers: [{ name: "c", image: "i:2" }] } } } }
  ),
  job("completions may not change", { spec: { template: never } }, { spec: { completions: 2 } }),
  job(
    "parallelism and suspension may change",
    { spec: { template: never } },
    { spec: { parallelism: 2, suspend: true } }
  ),
  job("a negative limit", {
    spec: { template: never, backoffLimit: -1, parallelism: -1, activeDeadlineSeconds: -1, ttlSecondsAfterFinished: -1 }
  }),
  job("indexed without completions", { spec: { template: never, completionMode: "Indexed" } }),
  job("a selector of one's own", { spec: { template: never, selector } }),
  job("a manual selector", { spec: { template: { metadata: { labels }, ...never }, manualSelector: true, selector } }),
  cronJob("defaults", { spec: { schedule: "* * * * *", jobTemplate: { spec: { template: never } } } }),
  cronJob("a bad schedule", { spec: { schedule: "x", jobTemplate: { spec: { template: never } } } }),
  cronJob("no schedule", { spec: { jobTemplate: { spec: { template: never } } } }),
  cronJob("a bad concurrency", {
    spec: { schedule: "* * * * *", concurrencyPolicy: "X", jobTemplate: { spec: { template: never } } }
  })
]

const probe = { httpGet: { path: "/", port: 80 } }
const pods: ReadonlyArray<Case> = [
  pod("defaults", {
    spec: {
      containers: [
        {
          name: "c",
          image: "i",
          ports: [{ containerPort: 80 }],
          readinessProbe: probe,
          livenessProbe: { exec: { command: ["x"] } },
          env: [
            { name: "A", value: "b" },
            { name: "N", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }
          ],
          resources: { limits: { cpu: "1" } }
        }
      ],
      initContainers: [{ name: "i", image: "i:latest" }],
      volumes: [
        { name: "s", secret: { secretName: "x" } },
        { name: "m", configMap: { name: "x" } },
        { name: "e", emptyDir: {} },
        { name: "p", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
        { name: "d", downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "metadata.name" } }] } },
        { name: "h", hostPath: { path: "/x" } }
      ],
      serviceAccountName: "default",
      automountServiceAccountToken: false
    }
  }),
  pod("no containers", { spec: { containers: [] } }),
  pod("no image and no name", { spec: { containers: [{}] } }),
  pod("a name twice", { spec: { containers: [...containers, ...containers] } }),
  pod("a bad container name", { spec: { containers: [{ name: "A_b", image: "i" }] } }),
  pod("a bad restart policy", { spec: { containers, restartPolicy: "Sometimes" } }),
  pod("a mount of nothing", {
    spec: { containers: [{ name: "c", image: "i", volumeMounts: [{ name: "v", mountPath: "/v" }] }] }
  }),
  pod("a volume twice", {
    spec: {
      containers,
      volumes: [
        { name: "v", emptyDir: {} },
        { name: "v", emptyDir: {} }
      ]
    }
  }),
  pod("a bad environment name", { spec: { containers: [{ name: "c", image: "i", env: [{ name: "" }] }] } }),
  pod("a bad port", { spec: { containers: [{ name: "c", image: "i", ports: [{ containerPort: 70000 }] }] } })
]

const rest: ReadonlyArray<Case> = [
  service("defaults", { spec: { selector: labels, ports: [{ port: 80 }] } }),
  service("headless", { spec: { clusterIP: "None", ports: [{ name: "a", port: 80, targetPort: "http" }] } }),
  service("external", { spec: { type: "ExternalName", externalName: "a.example" } }),
  service("no ports", { spec: { selector: labels } }),
  service("a bad port", { spec: { ports: [{ port: 0 }] } }),
  service("two ports without names", { spec: { ports: [{ port: 80 }, { port: 81 }] } }),
  service("a port twice", {
    spec: {
      ports: [
        { name: "a", port: 80 },
        { name: "a", port: 80 }
      ]
    }
  }),
  service("a bad type", { spec: { type: "X", ports: [{ port: 80 }] } }),
  service("a bad protocol", { spec: { ports: [{ port: 80, protocol: "X" }] } }),
  lease("times", { spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000000Z" } }),
  lease("a duration of nothing", { spec: { holderIdentity: "a", leaseDurationSeconds: 0 } }),
  lease("negative transitions", { spec: { leaseTransitions: -1 } }),
  role("rules", { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }),
  role("a rule without verbs", { rules: [{ apiGroups: [""], resources: ["pods"] }] }),
  role("a rule without resources", { rules: [{ apiGroups: [""], verbs: ["get"] }] }),
  binding("defaults", {
    roleRef: { kind: "Role", name: "r" },
    subjects: [
      { kind: "User", name: "u" },
      { kind: "ServiceAccount", name: "s", namespace: "n" }
    ]
  }),
  binding("no role", { roleRef: { kind: "X", name: "" } }),
  binding("a bad subject", {
    roleRef: { kind: "Role", name: "r" },
    subjects: [
      { kind: "X", name: "" },
      { kind: "ServiceAccount", name: "s" }
    ]
  }),
  binding("the role may not change", { roleRef: { kind: "Role", name: "r" } }, { roleRef: { name: "q" } }),
  claim("defaults", { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } }),
  claim("nothing", { spec: {} }),
  policy("defaults", { spec: { podSelector: {} } }),
  policy("egress", { spec: { podSelector: {}, egress: [{ ports: [{ port: 53 }] }] } }),
  budget("both", { spec: { minAvailable: 1, maxUnavailable: 1, selector } }),
  budget("a percentage", { spec: { minAvailable: "50%", selector } }),
  account("defaults", {})
]

export const cases: ReadonlyArray<Case> = [...metadata, ...data, ...workloads, ...pods, ...rest]
