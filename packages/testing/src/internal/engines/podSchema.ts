/**
 * The lists and maps of a Pod's spec.
 *
 * @since 0.1.0
 */
import { atomicList, keyedList, quantityMap, stringMap, struct, text, whole } from "./schemaParts.ts"
import type { Schema } from "./schema.ts"

const byName = (fields: { readonly [name: string]: Schema } = {}): Schema =>
  keyedList(["name"], "name", struct({ name: text, ...fields }))

const selector = (fields: { readonly [name: string]: Schema }): Schema => ({
  ...struct(fields),
  "x-kubernetes-map-type": "atomic"
})

const env = byName({
  value: text,
  valueFrom: struct({
    fieldRef: selector({ fieldPath: text, apiVersion: text }),
    resourceFieldRef: selector({}),
    configMapKeyRef: selector({}),
    secretKeyRef: selector({})
  })
})

const ports = keyedList(
  ["containerPort", "protocol"],
  "containerPort",
  struct({ containerPort: whole, name: text, protocol: { type: "string", default: "TCP" } })
)

const container = {
  image: text,
  command: atomicList,
  args: atomicList,
  env,
  envFrom: atomicList,
  ports,
  resources: struct({ limits: quantityMap, requests: quantityMap, claims: byName() }),
  volumeMounts: keyedList(["mountPath"], "mountPath", struct({ name: text, mountPath: text })),
  volumeDevices: keyedList(["devicePath"], "devicePath", struct({ name: text, devicePath: text })),
  livenessProbe: struct({ exec: struct({ command: atomicList }), httpGet: struct({ httpHeaders: atomicList }) }),
  readinessProbe: struct({ exec: struct({ command: atomicList }), httpGet: struct({ httpHeaders: atomicList }) }),
  securityContext: struct({ capabilities: struct({ add: atomicList, drop: atomicList }) }),
  imagePullPolicy: text
}

const volume = struct({
  name: text,
  secret: struct({ secretName: text, items: atomicList }),
  configMap: struct({ name: text, items: atomicList }),
  emptyDir: struct({}),
  projected: struct({ sources: atomicList })
})

/** The spec of a Pod. */
export const podSpec: Schema = struct({
  containers: byName(container),
  initContainers: byName(container),
  ephemeralContainers: byName(container),
  volumes: {
    ...keyedList(["name"], "name", { ...volume, "x-kubernetes-patch-strategy": "retainKeys" }),
    "x-kubernetes-patch-strategy": "merge,retainKeys"
  },
  imagePullSecrets: keyedList(["name"], "name", selector({ name: text })),
  hostAliases: keyedList(["ip"], "ip", struct({ ip: text, hostnames: atomicList })),
  tolerations: atomicList,
  nodeSelector: { ...stringMap, "x-kubernetes-map-type": "atomic" },
  topologySpreadConstraints: keyedList(
    ["topologyKey", "whenUnsatisfiable"],
    "topologyKey",
    struct({ topologyKey: text, whenUnsatisfiable: text })
  ),
  securityContext: struct({ supplementalGroups: atomicList, sysctls: atomicList }),
  restartPolicy: text,
  serviceAccountName: text
})
