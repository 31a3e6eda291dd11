/**
 * The kind Shard: a PostgreSQL server that tenants share, how the provider reaches it, and how tenants are told to.
 *
 * **Guarantees**
 * - Every list, map and text has a bound, every field a description. Secrets are referred to by name and key, in the release
 *   namespace only.
 *
 * **Caveats**
 * - `ownership: tenant` gives up what the provider's ownership holds: such a tenant can let others in, mark its database as a template,
 *   and drop it past the grace period.
 *
 * @since 0.1.0
 */
import * as Kind from "@berth/kube/Kind"
import { Duration, Schema } from "effect"
import {
  age,
  Count,
  Host,
  optional,
  ready,
  reason,
  SecretKeyRef,
  Span,
  SqlName,
  statusFields
} from "./internal/fields.ts"

const described = Kind.described

const SslMode = Schema.Literals(["disable", "require", "verify-ca", "verify-full"])

/** A certificate that nobody verifies against is one that somebody believes in. */
const caBundleIsUsed = Kind.rule({
  rule: "!has(self.caBundle) || self.sslmode.startsWith('verify-')",
  message: "caBundle is for sslmode verify-ca or verify-full",
  fieldPath: ".caBundle"
})

const address = {
  host: Host.pipe(described("A DNS name or an IP address.")),
  port: Kind.Port.pipe(described("The port."), Kind.withDefault(5432)),
  sslmode: SslMode.pipe(
    described("As libpq understands it: verify-full also checks the name in the certificate."),
    Kind.withDefault("verify-full")
  ),
  caBundle: optional(
    "The certificates, as PEM, of the authorities to trust. Default: those that the system trusts.",
    Kind.Text(1, 65_536)
  )
}

const Primary = Schema.Struct({
  ...address,
  user: SqlName.pipe(described("The provisioner's role."), Kind.withDefault("berth_provisioner")),
  database: SqlName.pipe(
    described("Where the provider connects to before its registry is there."),
    Kind.withDefault("postgres")
  )
}).pipe(caBundleIsUsed)

const Endpoint = Schema.Struct(address).pipe(caBundleIsUsed)

const Pooler = Schema.Struct({
  authUser: SqlName.pipe(described("The role that PgBouncer's auth_query logs in as.")),
  authDbname: optional(
    "PgBouncer's auth_dbname (1.19 or newer). Without it users are looked up inside the tenant's database.",
    SqlName
  )
})

const ConnectionLimit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))

const Limits = Schema.Struct({
  roleConnections: ConnectionLimit.pipe(
    described("How many sessions a tenant's role may have at once."),
    Kind.withDefault(20)
  ),
  databaseConnections: ConnectionLimit.pipe(
    described("How many sessions a tenant's database may have at once, the pooler's among them."),
    Kind.withDefault(25)
  ),
  tempFileLimit: optional(
    "How much a session may write to temporary files, such as 1GB. A tenant cannot change it.",
    Kind.Text(3, 16).check(Schema.isPattern(/^[1-9][0-9]{0,9}(?:kB|MB|GB)$/u))
  ),
  statementTimeout: optional("How long a statement may take: a default, which a tenant may change.", Span)
})

const spec = Schema.Struct({
  primary: Primary.pipe(described("Where the provider makes databases: the primary itself, not a pooler.")),
  endpoint: Endpoint.pipe(described("What tenants are told: the pooler, or the server itself.")),
  provisionerSecretRef: SecretKeyRef.pipe(described("The password of the provisioner's role.")),
  accepting: Schema.Boolean.pipe(described("Whether new databases are placed here."), Kind.withDefault(true)),
  maxDatabases: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })).pipe(
    described("How many databases may be here; those that are deleted count until they are dropped."),
    Kind.withDefault(100)
  ),
  ownership: Schema.Literals(["provider", "tenant"]).pipe(
    described("Who owns a tenant's database. With `tenant`, a tenant can let others into its own."),
    Kind.withDefault("provider")
  ),
  template: Schema.Literals(["template0", "template1"]).pipe(
    described("What databases are made from: template1 where the pooler's lookup function must be in each."),
    Kind.withDefault("template0")
  ),
  pooler: optional("The PgBouncer in front of it, if it looks users up by auth_query.", Pooler),
  limits: Limits.pipe(described("What a tenant may use."), Kind.withDefault({})),
  gracePeriod: Span.pipe(described("How long a deleted database is kept before it is dropped."), Kind.withDefault("7d"))
}).pipe(
  Kind.rule({
    rule: "!has(self.pooler) || has(self.pooler.authDbname) || self.template == 'template1'",
    message:
      "without pooler.authDbname the pooler looks users up inside the tenant's database: set it, or template to template1",
    fieldPath: ".template"
  })
)

const status = Schema.Struct({
  ...statusFields,
  serverVersion: optional("The server's version, such as 18.4.", Kind.Text(1, 64)),
  databases: Count.pipe(described("How many databases have a place here."), Kind.withDefault(0)),
  held: Count.pipe(described("How many records somebody tried to delete without the API."), Kind.withDefault(0)),
  softDeleted: Count.pipe(described("How many wait for the end of the grace period."), Kind.withDefault(0))
})

/**
 * The conditions of a shard. Ready sums them up.
 *
 * @category constants
 * @since 0.1.0
 */
export const conditions = {
  reachable: "Reachable",
  writable: "Writable",
  isolationVerified: "IsolationVerified",
  poolerVerified: "PoolerVerified",
  ready: "Ready"
} as const

/**
 * A PostgreSQL server that tenants share.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Shard = Kind.make({
  group: "db.berth.dev",
  version: "v1alpha1",
  kind: "Shard",
  description: "A PostgreSQL server that tenants share.",
  scope: "Cluster",
  categories: ["berth"],
  spec,
  status,
  columns: [
    { name: "Host", path: ".spec.primary.host" },
    ready,
    { name: "Accepting", path: ".spec.accepting", type: "boolean" },
    { name: "Databases", path: ".status.databases", type: "integer" },
    { name: "Max", path: ".spec.maxDatabases", type: "integer" },
    { name: "Held", path: ".status.held", type: "integer", priority: 1 },
    { name: "Deleted", path: ".status.softDeleted", type: "integer", priority: 1 },
    { name: "Version", path: ".status.serverVersion", priority: 1 },
    reason,
    age
  ]
})

/**
 * A Shard as it is decoded.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Shard = Kind.Object<typeof Shard>

/**
 * How long a database that is deleted now is kept.
 *
 * @category getters
 * @since 0.1.0
 */
export const gracePeriod = ({ spec }: Shard): Duration.Duration => spec.gracePeriod
