/**
 * The kind Consumer: who may ask for databases, how many, where, and by which tokens.
 *
 * **Guarantees**
 * - Of a token only the SHA-256 is kept, in a Secret of the release namespace; two may be valid at once, so that one replaces the
 *   other without a gap.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Schema } from "effect"
import {
  age,
  Count,
  ObjectName,
  optional,
  ready,
  reason,
  SecretKeyRef,
  Selector,
  statusFields
} from "./internal/fields.ts"

const described = Kind.described

const Token = Schema.Struct({
  name: ObjectName.pipe(described("What logs and the status call this token.")),
  sha256SecretRef: SecretKeyRef.pipe(described("The SHA-256 of the token, in hexadecimal digits.")),
  expiresAt: optional("From when on it is refused. Default: never.", Kind.Time)
})

const Quota = Schema.Struct({
  maxDatabases: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })).pipe(
    described("How many databases it may have; those that are deleted count until they are dropped."),
    Kind.withDefault(10)
  )
})

const spec = Schema.Struct({
  tokens: Schema.Array(Token)
    .check(Schema.isMaxLength(2))
    .pipe(Kind.listMap("name"), described("The tokens that it may use: two, while one replaces the other.")),
  quota: Quota.pipe(described("What it may have."), Kind.withDefault({})),
  disabled: Schema.Boolean.pipe(described("Refuses every request of it at once."), Kind.withDefault(false)),
  shardSelector: Selector.pipe(described("On which shards its databases may be."), Kind.withDefault({}))
})

const TokenUse = Schema.Struct({
  name: ObjectName.pipe(described("The token.")),
  lastUsedAt: Kind.Time.pipe(described("When it was used last, to the minute."))
})

const status = Schema.Struct({
  ...statusFields,
  used: Count.pipe(described("How many databases count against its quota."), Kind.withDefault(0)),
  tokens: Schema.Array(TokenUse)
    .check(Schema.isMaxLength(2))
    .pipe(Kind.listMap("name"), described("When each token was used."), Kind.withDefault([]))
})

/**
 * Who may ask for databases.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Consumer = Kind.make({
  group: "db.berth.dev",
  version: "v1alpha1",
  kind: "Consumer",
  description: "Who may ask for databases, how many, where, and by which tokens.",
  scope: "Cluster",
  categories: ["berth"],
  spec,
  status,
  columns: [
    { name: "Used", path: ".status.used", type: "integer" },
    { name: "Quota", path: ".spec.quota.maxDatabases", type: "integer" },
    { name: "Disabled", path: ".spec.disabled", type: "boolean" },
    ready,
    reason,
    age
  ]
})

/**
 * A Consumer as it is decoded.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Consumer = Kind.Object<typeof Consumer>
