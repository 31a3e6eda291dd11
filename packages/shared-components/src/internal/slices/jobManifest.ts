/** What a script's Job and its Secret look like. Nothing that was rendered is in the Job (S25): it is in the Secret, which the Job names. */
import type * as Builtin from "@berth/kube/Builtin"
import type { Draft } from "@berth/kube/KubeObject"
import { Duration, Result } from "effect"
import * as Template from "../../Template.ts"
import type { Script } from "../script.ts"

/** Where the rendered script is mounted. */
const folder = "/var/run/berth"
const scriptKey = "script"
const variableKey = (name: string): string => `env.${name}`

/** Says for which record, inputs and attempt a Job was made. */
export const annotations = {
  slice: "berth.dev/slice-uid",
  inputHash: "berth.dev/input-hash",
  attempt: "berth.dev/attempt"
} as const

export interface Manifest {
  readonly name: string
  /** Of the Secret with what the templates make. */
  readonly input: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly sliceUid: string
  readonly inputHash: string
  readonly attempt: number
  readonly action: string
  readonly script: Script
}

const annotationsOf = ({ attempt, inputHash, sliceUid }: Manifest) => ({
  [annotations.slice]: sliceUid,
  [annotations.inputHash]: inputHash,
  [annotations.attempt]: String(attempt)
})

/** Everything that the templates make, in one Secret. */
export const secret = (
  manifest: Manifest,
  context: Template.Context
): Result.Result<Draft<Builtin.Secret>, Template.TemplateError> => {
  const { action, input, labels, namespace, script } = manifest
  const sources: Record<string, string> = {}
  if (script.script !== undefined) sources[scriptKey] = script.script
  for (const { name: variable, value } of script.env) if (value !== undefined) sources[variableKey(variable)] = value
  return Result.map(Template.renderRecord(sources, context, { name: action }), (stringData) => ({
    metadata: { name: input, namespace, labels, annotations: annotationsOf(manifest) },
    type: "Opaque",
    stringData
  }))
}

/** The restricted Pod security profile, as far as a container can state it. */
const restricted = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" }
}

const command = ({ command, script }: Script): ReadonlyArray<string> =>
  script === undefined ? (command ?? []) : [...(command ?? ["/bin/sh", "-eu"]), `${folder}/${scriptKey}`]

const variables = (input: string, { env }: Script) =>
  env.map((variable) => ({
    name: variable.name,
    valueFrom: { secretKeyRef: variable.secretKeyRef ?? { name: input, key: variableKey(variable.name) } }
  }))

const container = (input: string, script: Script) => ({
  name: "script",
  image: script.image,
  command: command(script),
  env: variables(input, script),
  envFrom: script.envFrom,
  volumeMounts: [
    ...(script.script === undefined ? [] : [{ name: "berth-script", mountPath: folder, readOnly: true }]),
    ...script.volumeMounts
  ],
  securityContext: script.securityContext ?? restricted,
  ...(script.resources === undefined ? {} : { resources: script.resources }),
  // The script's last words are its log where it wrote no message.
  terminationMessagePolicy: "FallbackToLogsOnError"
})

const pod = (input: string, script: Script) => ({
  restartPolicy: "Never",
  automountServiceAccountToken: script.serviceAccountName !== undefined,
  ...(script.serviceAccountName === undefined ? {} : { serviceAccountName: script.serviceAccountName }),
  imagePullSecrets: script.imagePullSecrets,
  nodeSelector: script.nodeSelector,
  tolerations: script.tolerations,
  containers: [container(input, script)],
  volumes: [
    ...(script.script === undefined
      ? []
      : [{ name: "berth-script", secret: { secretName: input, items: [{ key: scriptKey, path: scriptKey }] } }]),
    ...script.volumes
  ]
})

/** Kubernetes keeps a finished Job this long for people to look at; its outcome is in the record by then. */
const keepSeconds = 86_400

/** The Job. Attempts are counted by the record, so Kubernetes makes one Pod only, and no second one while the first still ends. */
export const job = (manifest: Manifest) => {
  const { input, labels, name, namespace, script } = manifest
  return {
    metadata: { name, namespace, labels, annotations: annotationsOf(manifest) },
    spec: {
      backoffLimit: 0,
      podReplacementPolicy: "Failed",
      activeDeadlineSeconds: Math.max(1, Math.ceil(Duration.toSeconds(script.deadline))),
      ttlSecondsAfterFinished: keepSeconds,
      template: { metadata: { labels, annotations: annotationsOf(manifest) }, spec: pod(input, script) }
    }
  }
}
