/**
 * The kind SharedComponent: a workload that runs once and serves many environments.
 *
 * **Guarantees**
 * - Every list, map and text has a bound, every field a description.
 *
 * **Caveats**
 * - `parameters` are checked against the provider's schema by the operator, not by the API server.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"
import { age, LocalRef, optional, paused, ready, reason, Span } from "./internal/fields.ts"
import { statusFields } from "./internal/status.ts"

const described = Kind.described

const Idle = Schema.Struct({
  action: Schema.Literals(["Keep", "Suspend"]).pipe(
    described("What happens when nobody uses it."),
    Kind.withDefault("Keep")
  ),
  after: Span.pipe(described("How long nobody must have used it."), Kind.withDefault("1h"))
})

const spec = Schema.Struct({
  providerRef: LocalRef("SharedComponentProvider").pipe(described("How it is run and sliced.")),
  parameters: Kind.Opaque.pipe(
    described("What the provider's templates read as `.Parameters`; checked against the provider's schema."),
    Kind.withDefault({})
  ),
  maxConsumers: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })).pipe(
    described(
      "How many slices it may have at once. Who comes later waits. 0, the default: any number, and nobody waits."
    ),
    Kind.withDefault(0)
  ),
  idle: Idle.pipe(described("What to do while nobody uses it."), Kind.withDefault({})),
  deletionPolicy: Schema.Literals(["Refuse"]).pipe(
    described("Deletion admits nobody any more and waits until the last slice is gone."),
    Kind.withDefault("Refuse")
  )
})

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const status = Schema.Struct({
  ...statusFields,
  consumers: Count.pipe(described("How many slices have a place; at most a second old."), Kind.withDefault(0)),
  waiting: Count.pipe(described("How many wait for one; at most a second old."), Kind.withDefault(0)),
  providerGeneration: optional("The generation of the provider that new slices are made with.", Schema.Int),
  idleSince: optional("Since when nobody uses it.", Kind.Time)
})

/**
 * A workload that runs once and serves many environments.
 *
 * @category kinds
 * @since 0.1.0
 */
export const SharedComponent = Kind.make({
  group: "berth.dev",
  version: "v1alpha1",
  kind: "SharedComponent",
  description: "A workload that runs once and serves many environments.",
  scope: "Namespaced",
  shortNames: ["shc"],
  categories: ["berth"],
  spec,
  status,
  columns: [
    { name: "Provider", path: ".spec.providerRef.name" },
    ready,
    { name: "Consumers", path: ".status.consumers", type: "integer" },
    { name: "Max", path: ".spec.maxConsumers", type: "integer", description: "0: any number." },
    { name: "Waiting", path: ".status.waiting", type: "integer" },
    paused,
    reason,
    age
  ]
})

/**
 * A SharedComponent as it is decoded.
 *
 * @category kinds
 * @since 0.1.0
 */
export type SharedComponent = Kind.Object<typeof SharedComponent>
