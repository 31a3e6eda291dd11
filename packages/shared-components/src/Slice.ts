/**
 * The kind Slice: the record of what one environment has, or waits for, of one shared component.
 *
 * **Guarantees**
 * - S7: the record says which slice it is from its first write on: consumer, shared component, id and arrival cannot be changed.
 * - S11: the capsule holds everything that teardown needs.
 * - What is desired moves forward only: a release that was asked for cannot be taken back.
 *
 * **Caveats**
 * - Written by the operator only. It holds no credential and no rendered script, but templates and references (S25).
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"
import {
  age,
  DataKey,
  DataMap,
  Label,
  Line,
  ObjectName,
  optional,
  paused,
  ready,
  reason,
  SecretRef,
  TemplateText,
  Uid
} from "./internal/fields.ts"
import { Script } from "./internal/script.ts"
import { statusFields } from "./internal/status.ts"

const described = Kind.described

const Consumer = Schema.Struct({
  name: ObjectName.pipe(described("The environment.")),
  uid: Uid.pipe(described("Its UID: another environment of this name is another consumer.")),
  namespace: Label.pipe(described("The environment's own namespace, where the binding is written to.")),
  component: Label.pipe(described("Which component of the environment."))
})

const Adopter = Schema.Struct({
  name: ObjectName.pipe(described("The environment.")),
  uid: Uid.pipe(described("Its UID.")),
  namespace: Label.pipe(described("Its own namespace.")),
  sharedComponentUid: optional(
    "The UID of the shared component of the name that the slice is of since then. It differs where both came from a backup.",
    Uid
  )
})

const Shared = Schema.Struct({
  name: ObjectName.pipe(described("The shared component.")),
  uid: Uid.pipe(described("Its UID."))
})

/** The parts of a template's context that are known when the slice is provisioned and must be the same at its teardown. */
const Environment = Schema.Struct({
  name: ObjectName.pipe(described("`.Env.Name`")),
  slug: Label.pipe(described("`.Env.Slug`"))
})

const Backend = Schema.Struct({
  name: DataKey.pipe(described("Which backend of the program.")),
  settings: Kind.Opaque.pipe(
    described(
      "What it is told, such as an address and a reference to credentials. What it makes is called by `sliceId`. Whoever mends it here, mends it for this slice."
    )
  )
})

const Capsule = Schema.Struct({
  provider: Schema.Struct({
    name: ObjectName.pipe(described("The provider.")),
    uid: Uid.pipe(described("Its UID.")),
    generation: Schema.Int.pipe(described("Its generation when the slice was provisioned."))
  }).pipe(described("Where the templates come from.")),
  env: Environment.pipe(described("What templates read as `.Env`.")),
  sharedNamespace: Label.pipe(described("Where the Jobs run and their Secrets are.")),
  instance: optional(
    "How the instance is reached that the scripts work at.",
    Schema.Struct({
      secretRef: SecretRef.pipe(
        described("The admin's credentials, in the shared namespace. They are read when a Job starts.")
      ),
      hostKey: DataKey.pipe(described("Which of its keys is `.Host`.")),
      portKey: DataKey.pipe(described("Which of its keys is `.Port`."))
    })
  ),
  provision: optional("The Job that makes the slice.", Script),
  deprovision: optional("The Job that removes it. Whoever mends it here, mends it for this slice.", Script),
  backend: optional("What makes the slice and removes it, where that is not scripts.", Backend),
  deprovisionGeneration: optional(
    "The generation of the provider that `deprovision` or `backend` was taken from later, by the annotation berth.dev/refresh-deprovision.",
    Schema.Int
  ),
  binding: DataMap(TemplateText, 64).pipe(described("The keys of the binding, as templates.")),
  bindingGeneration: optional(
    "The generation of the provider that `binding` was taken from later, by the annotation berth.dev/refresh-binding.",
    Schema.Int
  ),
  parameters: Kind.Opaque.pipe(described("The shared component's parameters."), Kind.withDefault({}))
}).pipe(
  Kind.rule({
    rule: "has(self.backend) || (has(self.instance) && has(self.provision) && has(self.deprovision))",
    message: "instance, provision and deprovision are required where there is no backend",
    reason: "FieldValueRequired"
  })
)

/** In this form the order of texts is the order of times. */
const Arrival = Kind.Text(27, 27).check(
  Schema.isPattern(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$/u)
)

const spec = Schema.Struct({
  consumer: Consumer.pipe(Kind.immutable, described("Whose slice it is.")),
  sharedComponent: Shared.pipe(Kind.immutable, described("What it is a slice of.")),
  sliceId: Kind.Text(20, 20)
    .check(Schema.isPattern(/^[a-z2-7]{20}$/u))
    .pipe(Kind.immutable, described("What the slice is called outside; made from the UIDs.")),
  arrivedAt: Arrival.pipe(
    Kind.immutable,
    described(
      "When it was asked for, to the microsecond. Who waits is admitted in this order, then in that of the ids."
    )
  ),
  desired: Schema.Literals(["Reserved", "Bound", "Released"]).pipe(
    Kind.rule({
      rule: "oldSelf == 'Reserved' || self == 'Released' || self == oldSelf",
      message: "moves from Reserved to Bound to Released only",
      reason: "FieldValueForbidden"
    }),
    described("What the consumer wants: a place, the slice itself, or to be rid of it."),
    Kind.withDefault("Reserved")
  ),
  adoptedBy: optional("The environment that took this slice over from its first consumer.", Adopter),
  capsule: optional("What provisioning and teardown need, as it was when the slice was provisioned.", Capsule)
}).pipe(
  Kind.rule({
    rule: "!has(oldSelf.capsule) || has(self.capsule)",
    message: "a capsule cannot be removed",
    fieldPath: ".capsule",
    reason: "FieldValueForbidden"
  })
)

const Job = Schema.Struct({
  name: ObjectName.pipe(described("The Job, in the shared namespace.")),
  uid: optional("Its UID: a Job of this name with another one is not this Job.", Uid),
  action: Schema.Literals(["provision", "deprovision"]).pipe(described("What it does.")),
  inputHash: Line(64).pipe(described("A digest of everything that it was given.")),
  attempt: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).pipe(described("Which attempt, from 1.")),
  outcome: optional(
    "How it ended. Lost: it was gone before its end was seen.",
    Schema.Literals(["Succeeded", "Failed", "DeadlineExceeded", "Lost"])
  ),
  finishedAt: optional("When its end was seen.", Kind.Time),
  retry: optional("The value of berth.dev/retry on the record when it was started.", Kind.Text(0, 253))
})

const status = Schema.Struct({
  ...statusFields,
  phase: Schema.Literals(["Waiting", "Reserved", "Provisioning", "Bound", "Releasing", "Orphaned"]).pipe(
    described("How far the slice is."),
    Kind.withDefault("Waiting")
  ),
  position: optional("Its place in the queue, from 1; exact up to 20.", Schema.Int),
  jobs: Schema.Array(Job)
    .check(Schema.isMaxLength(64))
    .pipe(Kind.listMap("name"), described("The Jobs that were started for it."), Kind.withDefault([])),
  bindingSecret: optional("The kept binding, in this record's namespace.", ObjectName),
  abandonedAt: optional(
    "When it was given up without being removed, by the annotation berth.dev/abandon: what was made for it may still be there.",
    Kind.Time
  )
})

/**
 * The record of what one environment has, or waits for, of one shared component.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Slice = Kind.make({
  group: "berth.dev",
  version: "v1alpha1",
  kind: "Slice",
  description:
    "The record of what one environment has, or waits for, of one shared component. Written by the operator.",
  scope: "Namespaced",
  categories: ["berth"],
  spec,
  status,
  columns: [
    { name: "Environment", path: ".spec.consumer.name" },
    { name: "Component", path: ".spec.consumer.component" },
    { name: "Shared", path: ".spec.sharedComponent.name" },
    { name: "Phase", path: ".status.phase" },
    { name: "Position", path: ".status.position", type: "integer" },
    ready,
    { name: "Id", path: ".spec.sliceId", priority: 1 },
    paused,
    reason,
    age
  ]
})

/**
 * A Slice as it is decoded.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Slice = Kind.Object<typeof Slice>

/**
 * What provisioning and teardown need, as it was when the slice was admitted.
 *
 * @category models
 * @since 0.1.0
 */
export type Capsule = NonNullable<Slice["spec"]["capsule"]>
