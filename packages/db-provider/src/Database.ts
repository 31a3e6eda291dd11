/**
 * The kind Database: the record of one tenant's database, written before anything is made for it.
 *
 * **Guarantees**
 * - D2, D3: whose it is and how it is called cannot be changed once it is written; where it is, once it is placed.
 *
 * **Caveats**
 * - Written by the provider only. It holds no credential: the password is in the Secret that it names.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"
import {
  age,
  ExternalId,
  Labels,
  ObjectRef,
  optional,
  ready,
  reason,
  SecretKeyRef,
  Selector,
  statusFields,
  TenantName
} from "./internal/fields.ts"

const described = Kind.described

const spec = Schema.Struct({
  consumerRef: ObjectRef("Consumer").pipe(Kind.immutable, described("Whose database it is.")),
  externalId: ExternalId.pipe(Kind.immutable, described("What its consumer calls it.")),
  databaseName: TenantName.pipe(Kind.immutable, described("The database's name on its shard.")),
  roleName: TenantName.pipe(Kind.immutable, described("The name of the tenant's role.")),
  credentialsSecretRef: SecretKeyRef.pipe(Kind.immutable, described("The tenant's password.")),
  shardRef: optional("Where it is, once it has a place.", ObjectRef("Shard")),
  labels: Labels.pipe(Kind.immutable, described("What its consumer wrote on it."), Kind.withDefault({})),
  shardSelector: Selector.pipe(
    Kind.immutable,
    described("On which of its consumer's shards it may be."),
    Kind.withDefault({})
  ),
  deleteRequestedAt: optional("When its consumer asked to delete it.", Kind.Time)
}).pipe(
  Kind.rule({
    rule: "!has(oldSelf.shardRef) || (has(self.shardRef) && self.shardRef == oldSelf.shardRef)",
    message: "a database does not move to another shard",
    fieldPath: ".shardRef",
    reason: "FieldValueForbidden"
  })
)

/**
 * How far a database is.
 *
 * **Details**: `Held` is one whose record somebody tried to delete without the API; it is served on. `Closing` lasts until nobody is
 * connected any more, `SoftDeleted` until the grace period is over.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Phase = Schema.Literals([
  "Pending",
  "Provisioning",
  "Ready",
  "Held",
  "Closing",
  "SoftDeleted",
  "Dropping",
  "Failed"
])

/**
 * @category models
 * @since 0.1.0
 */
export type Phase = Schema.Schema.Type<typeof Phase>

const status = Schema.Struct({
  ...statusFields,
  phase: Phase.pipe(described("How far the database is."), Kind.withDefault("Pending")),
  dropAfter: optional("When it will be dropped.", Kind.Time)
})

/**
 * The record of one tenant's database.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Database = Kind.make({
  group: "db.berth.dev",
  version: "v1alpha1",
  kind: "Database",
  description: "The record of one tenant's database. Written by the provider.",
  scope: "Namespaced",
  categories: ["berth"],
  spec,
  status,
  columns: [
    { name: "Consumer", path: ".spec.consumerRef.name" },
    { name: "Id", path: ".spec.externalId" },
    { name: "Shard", path: ".spec.shardRef.name" },
    { name: "Phase", path: ".status.phase" },
    ready,
    { name: "Database", path: ".spec.databaseName", priority: 1 },
    // As it stands: a date is shown as an age, and this one is to come.
    { name: "Drop", path: ".status.dropAfter", priority: 1 },
    reason,
    age
  ]
})

/**
 * A Database as it is decoded.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Database = Kind.Object<typeof Database>
