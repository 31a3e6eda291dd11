/** Histories of objects of built-in kinds under several managers. */
import type { Step } from "./apply.ts"

export interface History {
  readonly title: string
  readonly kind: string
  readonly apiVersion: string
  /** The path of the collection. */
  readonly path: string
  readonly steps: ReadonlyArray<Step>
}

const CORE = "/api/v1/namespaces/default"

const apply = (manager: string, body: Step["body"], more: Partial<Step> = {}): Step => ({
  verb: "apply",
  manager,
  body,
  ...more
})
const create = (manager: string, body: Step["body"]): Step => ({ verb: "create", manager, body })
const merge = (manager: string, body: Step["body"]): Step => ({ verb: "merge", manager, body })

const labels = { app: "a" }
const selector = { matchLabels: labels }
const deployment = (containers: unknown, more: object = {}, pod: object = {}) => ({
  spec: { selector, template: { metadata: { labels }, spec: { containers, ...pod } }, ...more }
})
const c = (name: string, more: object = {}) => ({ name, image: "i:1", ...more })

export const histories: ReadonlyArray<History> = [
  {
    title: "a ConfigMap",
    kind: "ConfigMap",
    apiVersion: "v1",
    path: `${CORE}/configmaps`,
    steps: [
      create("m", { data: { a: "1" } }),
      apply("a", { data: { b: "2" }, metadata: { labels } }),
      apply("a", { data: { a: "2" } }),
      apply("a", { data: { a: "2" } }, { force: true }),
      apply("a", {})
    ]
  },
  {
    title: "a Secret",
    kind: "Secret",
    apiVersion: "v1",
    path: `${CORE}/secrets`,
    steps: [
      apply("a", { data: { a: "aGk=" } }),
      merge("m", { stringData: { b: "hi" } }),
      apply("a", { data: { a: "aGkh" } })
    ]
  },
  {
    title: "a Service's ports and selector",
    kind: "Service",
    apiVersion: "v1",
    path: `${CORE}/services`,
    steps: [
      apply("a", { spec: { selector: labels, ports: [{ name: "x", port: 80 }] } }),
      apply("b", { spec: { ports: [{ name: "y", port: 81, protocol: "UDP" }] } }),
      apply("b", { spec: { selector: { app: "b" } } })
    ]
  },
  {
    title: "a Deployment's containers",
    kind: "Deployment",
    apiVersion: "apps/v1",
    path: "/apis/apps/v1/namespaces/default/deployments",
    steps: [
      apply(
        "a",
        deployment([c("x", { env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] })], { replicas: 2 })
      ),
      apply("b", deployment([c("y", { resources: { limits: { cpu: "1" } } })])),
      apply(
        "b",
        deployment([{ name: "x", env: [{ name: "B", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }])
      ),
      merge("hpa", { spec: { replicas: 5 } }),
      apply(
        "a",
        deployment([c("x", { env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] })], { replicas: 2 })
      ),
      apply("a", deployment([c("x", { env: [{ name: "A", value: "2" }] })]))
    ]
  },
  {
    title: "a Deployment that was created",
    kind: "Deployment",
    apiVersion: "apps/v1",
    path: "/apis/apps/v1/namespaces/default/deployments",
    steps: [
      create(
        "m",
        deployment(
          [
            c("x", {
              securityContext: { runAsUser: 1, capabilities: { drop: ["ALL"] } },
              volumeMounts: [{ name: "v", mountPath: "/v" }]
            })
          ],
          { strategy: { type: "Recreate" } },
          { volumes: [{ name: "v", emptyDir: {} }] }
        )
      ),
      merge("m", {
        spec: {
          template: { spec: { volumes: [{ name: "w", secret: { secretName: "s" } }], nodeSelector: { a: "b" } } }
        }
      })
    ]
  },
  {
    title: "a Role",
    kind: "Role",
    apiVersion: "rbac.authorization.k8s.io/v1",
    path: "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
    steps: [
      apply("a", { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }),
      apply("b", { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }] })
    ]
  },
  {
    title: "a ServiceAccount",
    kind: "ServiceAccount",
    apiVersion: "v1",
    path: `${CORE}/serviceaccounts`,
    steps: [
      apply("a", { imagePullSecrets: [{ name: "x" }] }),
      apply("b", { imagePullSecrets: [{ name: "y" }], automountServiceAccountToken: false }),
      apply("a", { imagePullSecrets: [] })
    ]
  },
  {
    title: "a Lease",
    kind: "Lease",
    apiVersion: "coordination.k8s.io/v1",
    path: "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    steps: [
      create("a", {
        spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000000Z" }
      }),
      merge("b", { spec: { holderIdentity: "b" } })
    ]
  },
  {
    title: "a StatefulSet",
    kind: "StatefulSet",
    apiVersion: "apps/v1",
    path: "/apis/apps/v1/namespaces/default/statefulsets",
    steps: [
      create("m", { spec: { ...deployment([c("x")]).spec, serviceName: "s" } }),
      merge("n", { spec: { replicas: 2 } })
    ]
  },
  {
    title: "a Job",
    kind: "Job",
    apiVersion: "batch/v1",
    path: "/apis/batch/v1/namespaces/default/jobs",
    steps: [
      create("m", { spec: { template: { spec: { restartPolicy: "Never", containers: [c("x")] } } } }),
      merge("n", { spec: { suspend: true } })
    ]
  },
  {
    title: "a RoleBinding",
    kind: "RoleBinding",
    apiVersion: "rbac.authorization.k8s.io/v1",
    path: "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
    steps: [
      create("m", {
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
        subjects: [{ kind: "User", name: "u" }]
      })
    ]
  },
  {
    title: "a Service that was created",
    kind: "Service",
    apiVersion: "v1",
    path: `${CORE}/services`,
    steps: [create("m", { spec: { selector: labels, ports: [{ port: 80 }] } })]
  },
  {
    title: "a claim",
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    path: `${CORE}/persistentvolumeclaims`,
    steps: [create("m", { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } })]
  }
]
