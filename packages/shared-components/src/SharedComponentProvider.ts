/**
 * The kind SharedComponentProvider: how shared components of one sort are run and sliced.
 *
 * **Guarantees**
 * - Every list, map and text has a bound, every field a description; what the schema cannot say is a rule that the API server
 *   enforces. What no rule can say is found by `TemplateCheck`.
 *
 * **Caveats**
 * - `workload` is accepted by the API server and refused by a condition as long as the operator cannot run it. So is `databaseProvider`, and
 *   a `custom` backend, by a program that does not have it.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"
import * as chart from "./internal/chart.ts"
import {
  age,
  DataKey,
  DataMap,
  Label,
  ObjectName,
  optional,
  paused,
  ready,
  reason,
  SecretKeyRef,
  SecretRef,
  TemplateText
} from "./internal/fields.ts"
import { Script } from "./internal/script.ts"
import { statusFields } from "./internal/status.ts"

export type { Script } from "./internal/script.ts"

const described = Kind.described

const Workload = Schema.Struct({
  ...chart.fields,
  suspendedValues: optional(
    "What goes over the values while nobody uses the shared component, where it is to be suspended then.",
    Kind.Opaque
  ),
  clusterScoped: Schema.Boolean.pipe(
    described(
      "Deploys the chart with the operator's own rights, so that it may have objects outside of the shared namespace."
    ),
    Kind.withDefault(false)
  ),
  service: optional(
    "The Service through which slices reach it.",
    Schema.Struct({
      name: Kind.Text(1, 1024).pipe(described("A template of its name.")),
      port: Kind.Port.pipe(described("Its port."))
    })
  )
}).pipe(chart.onePlace, chart.namedInRepo, chart.exactVersion)

const External = Schema.Struct({
  secretRef: SecretRef.pipe(
    described(
      "The Secret in the shared namespace that says how to reach the instance. Templates read it as `.Instance`."
    )
  ),
  keys: Schema.Array(DataKey)
    .check(Schema.isMaxLength(64))
    .pipe(
      Kind.listSet,
      described("The keys that it has. Where they are named, a template that reads another one is refused."),
      Kind.withDefault([])
    ),
  hostKey: DataKey.pipe(described("Which of its keys is `.Host`."), Kind.withDefault("host")),
  portKey: DataKey.pipe(described("Which of its keys is `.Port`."), Kind.withDefault("port"))
})

const DatabaseProvider = Schema.Struct({
  endpoint: Kind.Text(9, 1024)
    .check(Schema.isPattern(/^https:\/\/[-._~:/?@!$&()*+,;=%A-Za-z0-9[\]]*[-._~?@!$&()*+,;=%A-Za-z0-9\]]$/u))
    .pipe(described("The https URL of a Berth database provider, without a slash at its end.")),
  caBundle: optional("Certificates in PEM that its certificate is checked with.", Kind.Text(1, 65_536)),
  tokenSecretRef: SecretKeyRef.pipe(described("The token, in the shared namespace. It is read anew each time."))
})

const Custom = Schema.Struct({
  backend: Label.pipe(described("The name that the program gives to it.")),
  settings: Kind.Opaque.pipe(described("What it is told."), Kind.withDefault({}))
})

const InstanceKey = Schema.Struct({
  name: DataKey.pipe(described("The key.")),
  value: optional("Its value.", Kind.Text(0, 4096)),
  generate: optional(
    "Its value is made once, by chance.",
    Schema.Struct({
      length: Schema.Int.check(Schema.isBetween({ minimum: 8, maximum: 256 })).pipe(
        described("How many characters."),
        Kind.withDefault(24)
      ),
      charset: Schema.Literals(["alphanumeric", "hex", "base64url"]).pipe(
        described("Which characters."),
        Kind.withDefault("alphanumeric")
      )
    })
  )
}).pipe(Kind.exactlyOne("value", "generate"))

const InstanceSecret = Schema.Struct({
  name: optional("The name of the Secret; made from the shared component's by default.", ObjectName),
  keys: Schema.Array(InstanceKey)
    .check(Schema.isMinLength(1), Schema.isMaxLength(64))
    .pipe(Kind.listMap("name"), described("The keys that it has."))
})

const spec = Schema.Struct({
  workload: optional("The workload is a Helm chart.", Workload),
  external: optional("The workload is there already.", External),
  databaseProvider: optional(
    "Every slice is a database of a Berth database provider. Its binding has the keys `type`, `host`, `port`, `database`, `username`, `password`, `sslmode`, `uri` and, where they are needed, `certificates`. `binding` can replace them and add to them; its templates read them as `.Outputs`.",
    DatabaseProvider
  ),
  custom: optional("Slices are made by a backend of the operator's own program.", Custom),
  instanceSecret: optional("The workload's own credentials. Templates read them as `.Instance`.", InstanceSecret),
  provision: optional("The Job that makes a slice. It may run more than once.", Script),
  deprovision: optional("The Job that removes a slice. It may run more than once.", Script),
  check: optional("The Job that says whether the instance is usable.", Script),
  list: optional("The Job that prints the id of every slice there is, one a line.", Script),
  rotate: optional("The Job that gives a slice new credentials.", Script),
  binding: DataMap(TemplateText, 64).pipe(
    described(
      "The keys of the binding, as templates. The key `type`, without any template, makes it a servicebinding.io Secret of this type."
    ),
    Kind.withDefault({})
  ),
  outputs: Schema.Array(DataKey)
    .check(Schema.isMaxLength(64))
    .pipe(
      Kind.listSet,
      described("Keys that the provision Job makes itself. The binding reads them as `.Outputs`."),
      Kind.withDefault([])
    ),
  parameters: optional("A JSON Schema that shared components' parameters must fit.", Kind.Opaque)
}).pipe(
  Kind.exactlyOne("workload", "external", "databaseProvider", "custom"),
  Kind.rule({
    rule: "has(self.databaseProvider) || has(self.custom) || (has(self.provision) && has(self.deprovision))",
    message: "provision and deprovision are required",
    reason: "FieldValueRequired"
  }),
  Kind.rule({
    rule: "!(has(self.databaseProvider) || has(self.custom)) || !(has(self.provision) || has(self.deprovision) || has(self.check) || has(self.list) || has(self.rotate))",
    message: "databaseProvider and custom have no scripts",
    fieldPath: ".databaseProvider",
    reason: "FieldValueForbidden"
  }),
  Kind.rule({
    rule: "!has(self.instanceSecret) || has(self.workload)",
    message: "instanceSecret belongs to a workload; an external instance has a Secret already",
    fieldPath: ".instanceSecret",
    reason: "FieldValueForbidden"
  })
)

const status = Schema.Struct({
  ...statusFields,
  sharedComponents: optional("How many shared components use it.", Schema.Int)
})

/**
 * How shared components of one sort are run and sliced.
 *
 * @category kinds
 * @since 0.1.0
 */
export const SharedComponentProvider = Kind.make({
  group: "berth.dev",
  version: "v1alpha1",
  kind: "SharedComponentProvider",
  description: "How shared components of one sort are run and sliced.",
  scope: "Namespaced",
  shortNames: ["scp"],
  categories: ["berth"],
  spec,
  status,
  columns: [ready, { name: "Used", path: ".status.sharedComponents", type: "integer" }, paused, reason, age]
})

/**
 * A SharedComponentProvider as it is decoded.
 *
 * @category kinds
 * @since 0.1.0
 */
export type SharedComponentProvider = Kind.Object<typeof SharedComponentProvider>
