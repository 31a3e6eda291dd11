/**
 * The kind EnvironmentTemplate: what environments are made of.
 *
 * **Guarantees**
 * - Every list, map and text has a bound, every field a description; what the schema cannot say is a rule that the API server
 *   enforces. What no rule can say, such as a key that a template names and nothing has, is found by `TemplateCheck`.
 * - S32: a chart gets what its environment's namespace may have, unless its component says `clusterScoped`.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"
import * as chart from "./internal/chart.ts"
import {
  age,
  Label,
  LocalRef,
  optional,
  paused,
  ready,
  reason,
  Span,
  TemplateText,
  VariableMap
} from "./internal/fields.ts"
import { statusFields } from "./internal/status.ts"

const described = Kind.described

const Helm = Schema.Struct({
  ...chart.fields,
  suspendedValues: optional("What goes over the values while the environment is suspended.", Kind.Opaque),
  clusterScoped: Schema.Boolean.pipe(
    described(
      "Deploys the chart with the operator's own rights, so that it may have objects outside of the environment's namespace. The environment's values then reach the chart only where these values read them."
    ),
    Kind.withDefault(false)
  )
}).pipe(chart.onePlace, chart.namedInRepo, chart.exactVersion)

const Readiness = Schema.Struct({
  httpGet: Schema.Struct({
    url: Kind.Text(1, 4096).pipe(described("A template of the URL that is asked.")),
    status: Schema.Int.check(Schema.isBetween({ minimum: 100, maximum: 599 })).pipe(
      described("The status of an answer that means ready."),
      Kind.withDefault(200)
    ),
    timeout: Span.pipe(described("How long one answer may take."), Kind.withDefault("5s"))
  }).pipe(described("Ready when this URL answers."))
})

const Component = Schema.Struct({
  name: Label.pipe(described("The component's name, by which templates refer to it.")),
  helm: optional("Deployed as a Helm release.", Helm),
  sharedComponentRef: optional("A slice of this shared component.", LocalRef("SharedComponent")),
  replaces: Schema.Array(Label)
    .check(Schema.isMaxLength(64))
    .pipe(
      Kind.listSet,
      described(
        "Former components whose slices of the same shared component are removed for this one, with all that is in them. Without it a slice that got another name is kept, and the environment waits."
      ),
      Kind.withDefault([])
    ),
  env: VariableMap(TemplateText, 128).pipe(
    described(
      "Environment variables, as templates. They are in the Secret `<component>-env` of the environment's namespace."
    ),
    Kind.withDefault({})
  ),
  readiness: optional("What else must hold before the component is ready.", Readiness),
  dependsOn: Schema.Array(Label)
    .check(Schema.isMaxLength(64))
    .pipe(
      Kind.listSet,
      described("Components that must be ready first, beside those that the templates refer to."),
      Kind.withDefault([])
    )
}).pipe(
  Kind.rule({
    rule: "!(has(self.helm) && has(self.sharedComponentRef))",
    message: "helm and sharedComponentRef exclude each other",
    reason: "FieldValueForbidden"
  })
)

const spec = Schema.Struct({
  ingress: optional(
    "Under which name environments are reached.",
    Schema.Struct({
      domain: Kind.Text(1, 190)
        .check(Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u))
        .pipe(described("An environment's URL is `https://<slug>.<domain>`."))
    })
  ),
  ttl: optional("How long environments live unless they say otherwise; for ever by default.", Span),
  deployTimeout: Span.pipe(
    described("How long a deployment may take before the environment is Failed."),
    Kind.withDefault("15m")
  ),
  components: Schema.Array(Component)
    .check(Schema.isMinLength(1), Schema.isMaxLength(64))
    .pipe(Kind.listMap("name"), described("What each environment consists of."))
})

const status = Schema.Struct({
  ...statusFields,
  environments: optional("How many environments are made from this template.", Schema.Int)
})

/**
 * What environments are made of.
 *
 * @category kinds
 * @since 0.1.0
 */
export const EnvironmentTemplate = Kind.make({
  group: "berth.dev",
  version: "v1alpha1",
  kind: "EnvironmentTemplate",
  description: "What environments are made of.",
  scope: "Namespaced",
  shortNames: ["envt"],
  categories: ["berth"],
  spec,
  status,
  columns: [ready, { name: "Environments", path: ".status.environments", type: "integer" }, paused, reason, age]
})

/**
 * An EnvironmentTemplate as it is decoded.
 *
 * @category kinds
 * @since 0.1.0
 */
export type EnvironmentTemplate = Kind.Object<typeof EnvironmentTemplate>

/**
 * One component of a template.
 *
 * @category models
 * @since 0.1.0
 */
export type Component = EnvironmentTemplate["spec"]["components"][number]
