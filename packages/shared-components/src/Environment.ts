/**
 * The kind Environment: one consumer, a namespace with the components of a template in it.
 *
 * **Guarantees**
 * - Every list, map and text has a bound, every field a description; what the schema cannot say is a rule that the API server
 *   enforces.
 * - S29: an environment stays on the cluster that it was made for.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"
import {
  age,
  ComponentMap,
  DataKey,
  Label,
  Line,
  LocalRef,
  optional,
  paused,
  ready,
  reason,
  SecretKeyRef,
  Span,
  VariableMap
} from "./internal/fields.ts"
import { statusFields } from "./internal/status.ts"

const described = Kind.described

const Source = Schema.Struct({
  repo: optional("The repository, as a URL or `owner/name`.", Line(1024)),
  branch: optional("The branch that is deployed.", Line(255)),
  sha: optional("The commit that is deployed.", Line(64))
})

const Variable = Schema.Struct({
  value: optional("The value itself. It may be read by whoever reads this object.", Kind.Text(0, 32_768)),
  secretKeyRef: optional(
    'A key of a Secret in this namespace that carries the label `berth.dev/for-environments: "true"`.',
    SecretKeyRef
  ),
  sliceKeyRef: optional(
    "A key of the binding of another component of this environment.",
    Schema.Struct({
      component: Label.pipe(described("The component that is a slice.")),
      key: DataKey.pipe(described("The key of its binding."))
    })
  )
}).pipe(Kind.exactlyOne("value", "secretKeyRef", "sliceKeyRef"))

const Target = Schema.Struct({
  kubeconfigSecretRef: SecretKeyRef.pipe(
    described(
      'Where the kubeconfig of the cluster is: a key of a Secret in this namespace that carries the label `berth.dev/for-environments: "true"`.'
    )
  ),
  context: optional("Which of its contexts; its current one by default.", Line(253))
})

const spec = Schema.Struct({
  templateRef: LocalRef("EnvironmentTemplate").pipe(described("What this environment is made of.")),
  source: Source.pipe(described("What is deployed. Templates read it as `.Source`."), Kind.withDefault({})),
  values: ComponentMap(Kind.Opaque, 64).pipe(
    described("Values by component. They go over those of the template, which reads them as `.Values`."),
    Kind.withDefault({})
  ),
  env: ComponentMap(VariableMap(Variable, 128), 64).pipe(
    described("Environment variables by component. They go over those of the template."),
    Kind.withDefault({})
  ),
  ttl: optional("How long this environment lives, such as `36h`; the template's by default.", Span),
  target: optional("The cluster it is deployed to; this one by default.", Target),
  suspend: Schema.Boolean.pipe(
    described("Deploys what the template has for suspended components. Slices are kept."),
    Kind.withDefault(false)
  )
}).pipe(
  Kind.rule({
    rule: "has(self.target) == has(oldSelf.target) && (!has(self.target) || self.target == oldSelf.target)",
    message: "an environment cannot be moved to another cluster: make another one",
    fieldPath: ".target"
  })
)

const Component = Schema.Struct({
  name: Label.pipe(described("The component.")),
  phase: Schema.Literals(["Waiting", "Deploying", "Ready", "Failed", "Terminating"]).pipe(described("How far it is.")),
  reason: optional("A stable code for why it is not Ready.", Line(128)),
  message: optional("The same in a sentence.", Kind.Text(0, 1024)),
  position: optional("Its place in the queue of the shared component, where it waits for one.", Schema.Int)
})

const status = Schema.Struct({
  ...statusFields,
  phase: optional(
    "A summary of the conditions.",
    Schema.Literals(["Pending", "Deploying", "Ready", "Failed", "Terminating"])
  ),
  url: optional("Where the environment is reached.", Line(2048)),
  expiresAt: optional("When it is deleted.", Kind.Time),
  namespace: optional("The namespace that its components are in.", Label),
  components: Schema.Array(Component)
    .check(Schema.isMaxLength(64))
    .pipe(Kind.listMap("name"), described("How far each component is."), Kind.withDefault([]))
})

/**
 * One consumer: a namespace with components deployed into it from a template.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Environment = Kind.make({
  group: "berth.dev",
  version: "v1alpha1",
  kind: "Environment",
  description: "One consumer: a namespace with components deployed into it from a template.",
  scope: "Namespaced",
  shortNames: ["env"],
  categories: ["berth"],
  spec,
  status,
  columns: [
    { name: "Template", path: ".spec.templateRef.name" },
    ready,
    { name: "Phase", path: ".status.phase" },
    { name: "URL", path: ".status.url" },
    // As text: a column of dates shows how long ago they were.
    { name: "Expires", path: ".status.expiresAt" },
    { name: "Suspended", path: ".spec.suspend", type: "boolean" },
    paused,
    reason,
    age
  ]
})

/**
 * An Environment as it is decoded.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Environment = Kind.Object<typeof Environment>
