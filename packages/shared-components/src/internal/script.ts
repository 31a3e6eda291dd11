/** What a provider's Jobs run; in the provider, and as it was in a slice's capsule. */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"
import { ObjectName, optional, SecretKeyRef, SecretRef, Span, TemplateText } from "./fields.ts"

const described = Kind.described

const Variable = Schema.Struct({
  name: Kind.Text(1, 253)
    .check(Schema.isPattern(/^[a-zA-Z_][a-zA-Z0-9_]*$/u))
    .pipe(described("The name of the variable.")),
  value: optional("A template. What it makes reaches the Job through a Secret.", TemplateText),
  secretKeyRef: optional("A key of a Secret in the shared namespace.", SecretKeyRef)
}).pipe(Kind.exactlyOne("value", "secretKeyRef"))

const Source = Schema.Struct({
  prefix: optional("Put before each name.", Kind.Text(1, 63)),
  secretRef: optional("All keys of this Secret in the shared namespace.", SecretRef),
  configMapRef: optional(
    "All keys of this ConfigMap in the shared namespace.",
    Schema.Struct({ name: ObjectName.pipe(described("The name of the ConfigMap.")) })
  )
}).pipe(Kind.exactlyOne("secretRef", "configMapRef"))

const passed = (text: string, max: number) =>
  Schema.Array(Kind.Opaque).check(Schema.isMaxLength(max)).pipe(described(text), Kind.withDefault([]))

export const Script = Schema.Struct({
  image: Kind.Text(1, 1024).pipe(described("The image of the Job's container.")),
  script: optional(
    "A template of what the Job runs. It is mounted from a Secret and given to `command` as its last argument.",
    TemplateText
  ),
  command: optional(
    "What runs, without any template; `/bin/sh -eu` by default where there is a script.",
    Schema.Array(Kind.Text(0, 4096)).check(Schema.isMinLength(1), Schema.isMaxLength(64))
  ),
  env: Schema.Array(Variable)
    .check(Schema.isMaxLength(64))
    .pipe(Kind.listMap("name"), described("Environment variables of the Job."), Kind.withDefault([])),
  envFrom: Schema.Array(Source)
    .check(Schema.isMaxLength(16))
    .pipe(described("Objects whose keys become environment variables."), Kind.withDefault([])),
  volumes: passed("Volumes of the Job's Pod, as in a Pod.", 16),
  volumeMounts: passed("Where the volumes are mounted, as in a container.", 16),
  resources: optional("Requests and limits, as in a container.", Kind.Opaque),
  securityContext: optional("As in a container. The default is the restricted Pod security profile.", Kind.Opaque),
  serviceAccountName: optional("The ServiceAccount of the Job's Pod, in the shared namespace.", ObjectName),
  imagePullSecrets: Schema.Array(SecretRef)
    .check(Schema.isMaxLength(8))
    .pipe(described("Secrets for pulling the image, in the shared namespace."), Kind.withDefault([])),
  nodeSelector: Schema.Record(Schema.String, Kind.Text(0, 63))
    .check(Schema.isMaxProperties(16))
    .pipe(described("Labels that a node must have."), Kind.withDefault({})),
  tolerations: passed("Taints that the Pod tolerates, as in a Pod.", 16),
  deadline: Span.pipe(described("How long one attempt may take."), Kind.withDefault("10m")),
  retries: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })).pipe(
    described("How many times it is tried again after a failure."),
    Kind.withDefault(3)
  )
}).pipe(
  Kind.rule({
    rule: "has(self.script) || has(self.command)",
    message: "script or command is required",
    reason: "FieldValueRequired"
  })
)

export interface Script extends Schema.Schema.Type<typeof Script> {}
