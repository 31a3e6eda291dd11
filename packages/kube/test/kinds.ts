/** Kinds that use everything a kind can be made of. */
import { Schema } from "effect"
import * as Conditions from "../src/Conditions.ts"
import { Identifier } from "../src/Identifier.ts"
import * as Kind from "../src/Kind.ts"

const { optionalKey } = Schema
const SecretRef = Schema.Struct({ name: Identifier, key: optionalKey(Kind.Text(1, 253)) })
const conditions = Conditions.schema.pipe(Kind.withDefault([]))

/** Rules across fields, immutable and nullable fields, defaults of objects. */
export const Shard = Kind.make({
  group: "db.berth.dev",
  version: "v1alpha1",
  kind: "Shard",
  scope: "Cluster",
  description: "A PostgreSQL server that holds databases of many tenants.",
  categories: ["berth"],
  columns: [
    { name: "Ready", path: ".status.conditions[?(@.type=='Ready')].status" },
    { name: "Databases", path: ".status.databases", type: "integer", priority: 1, description: "How many there are." }
  ],
  spec: Schema.Struct({
    primary: Schema.Struct({
      host: Kind.Text(1, 253).pipe(Kind.described("A DNS name or an address.")),
      port: Kind.Port.pipe(Kind.withDefault(5432))
    }).pipe(Kind.described("Where the provisioner connects.")),
    endpoint: Schema.Struct({
      host: Kind.Text(1, 253),
      port: Kind.Port.pipe(Kind.withDefault(5432)),
      caBundle: optionalKey(Kind.Text(0, 65_536)),
      sslmode: Schema.Literals(["require", "verify-ca", "verify-full"]).pipe(
        Kind.withDefault("verify-full"),
        Kind.described("What tenants are told.")
      )
    }).pipe(
      Kind.rule({
        rule: "self.sslmode == 'require' || has(self.caBundle)",
        message: "verifying needs a caBundle",
        fieldPath: ".caBundle",
        reason: "FieldValueRequired"
      })
    ),
    provisionerSecretRef: SecretRef,
    accepting: Schema.Boolean.pipe(Kind.withDefault(true)),
    maxDatabases: optionalKey(Schema.Int.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(100_000))),
    ownership: Schema.Literals(["provider", "tenant"]).pipe(Kind.withDefault("provider"), Kind.immutable),
    limits: Schema.Struct({
      roleConnections: Schema.NullOr(Schema.Int.check(Schema.isInt32())).pipe(
        Kind.withDefault(20),
        Kind.described("Null is no limit.")
      ),
      statementTimeout: optionalKey(
        Schema.String.check(Schema.isMaxCodePoints(16), Schema.isPattern(/^[0-9]+(?:ms|s|min|h)$/u))
      )
    }).pipe(Kind.withDefault({}))
  }),
  status: Schema.Struct({
    conditions,
    serverVersion: optionalKey(Kind.Text(0, 64)),
    databases: Schema.Int.pipe(Kind.withDefault(0)),
    load: optionalKey(Schema.Finite)
  })
})

const Variable = Schema.Struct({
  name: Kind.Text(1, 253),
  value: optionalKey(Kind.Text(0, 4096)),
  secretKeyRef: optionalKey(SecretRef)
})

/** A class on purpose: it becomes a $ref, twice. */
class Script extends Schema.Class<Script>("Script")({
  image: Kind.Text(1, 1024),
  script: optionalKey(Kind.Text(0, 65_536)),
  command: optionalKey(Schema.NonEmptyArray(Kind.Text(0, 4096)).check(Schema.isMaxLength(64))),
  env: Schema.Array(Variable).check(Schema.isMaxLength(64)).pipe(Kind.listMap("name"), Kind.withDefault([])),
  resources: optionalKey(Kind.Opaque),
  deadlineSeconds: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 })).pipe(Kind.withDefault(600))
}) {}

const https = Schema.String.check(
  Schema.isMaxCodePoints(2048),
  Schema.isPattern(/^https:\/\//u),
  Schema.isPattern(/[^/]$/u)
)

const workload = Schema.Struct({
  chart: Kind.Text(1, 512),
  version: Kind.Text(1, 64),
  values: optionalKey(Kind.Opaque)
})
const external = Schema.Struct({ secretRef: SecretRef })
const databaseProvider = Schema.Struct({ endpoint: https, tokenSecretRef: SecretRef })
const common = {
  provision: optionalKey(Script),
  deprovision: optionalKey(Script),
  binding: Schema.Record(Schema.String, Kind.Text(0, 4096))
    .check(Schema.isMaxProperties(64))
    .pipe(Kind.withDefault({}), Kind.described("Templates by Secret key.")),
  capabilities: Schema.Array(Schema.Literals(["list", "check", "rotate"]))
    .check(Schema.isMaxLength(8))
    .pipe(Kind.listSet, Kind.withDefault([])),
  servicePort: optionalKey(Kind.IntOrString),
  notes: optionalKey(Schema.String.pipe(Kind.unbounded)),
  parameters: optionalKey(Kind.Opaque)
}

/** What has exactly one of the alternatives: of random optional fields that is seldom so. */
export const alternatives = Schema.Union([
  Schema.Struct({ ...common, workload }),
  Schema.Struct({ ...common, external }),
  Schema.Struct({ ...common, databaseProvider })
])

/** Alternatives, maps, sets, references, integers or strings, and what is only passed through. */
export const SharedComponentProvider = Kind.make({
  group: "berth.dev",
  version: "v1alpha1",
  kind: "SharedComponentProvider",
  scope: "Namespaced",
  shortNames: ["scp"],
  spec: Schema.Struct({
    ...common,
    workload: optionalKey(workload),
    external: optionalKey(external),
    databaseProvider: optionalKey(databaseProvider)
  }).pipe(
    Kind.exactlyOne("workload", "external", "databaseProvider"),
    Kind.rule({
      rule: "has(self.databaseProvider) || (has(self.provision) && has(self.deprovision))",
      message: "provision and deprovision are required"
    })
  ),
  status: Schema.Struct({ conditions })
})

const Party = Schema.Struct({ name: Identifier, uid: Identifier }).pipe(Kind.immutable)
const Job = Schema.Struct({
  name: Identifier,
  uid: Identifier,
  inputHash: Kind.Text(0, 64),
  attempt: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  outcome: optionalKey(Schema.NullOr(Schema.Literals(["Succeeded", "Failed"]))),
  finishedAt: optionalKey(Kind.Time)
})

/** Lists of objects, times, nullable literals, patterns. */
export const Slice = Kind.make({
  group: "berth.dev",
  version: "v1alpha1",
  kind: "Slice",
  scope: "Namespaced",
  columns: [
    { name: "Phase", path: ".status.phase" },
    { name: "Age", path: ".metadata.creationTimestamp", type: "date" }
  ],
  spec: Schema.Struct({
    consumer: Party,
    sharedComponent: Party,
    sliceId: Schema.String.check(Schema.isMaxCodePoints(20), Schema.isPattern(/^[a-z2-7]{20}$/u)).pipe(Kind.immutable),
    capsule: optionalKey(Kind.Opaque)
  }),
  status: Schema.Struct({
    phase: Schema.Literals(["Waiting", "Reserved", "Provisioning", "Bound", "Releasing", "Orphaned"]).pipe(
      Kind.withDefault("Waiting")
    ),
    position: optionalKey(Schema.NullOr(Schema.Int)),
    jobs: Schema.Array(Job).check(Schema.isMaxLength(16)).pipe(Kind.listMap("name"), Kind.withDefault([])),
    nothing: optionalKey(Schema.Struct({})),
    releasedAt: optionalKey(Schema.NullOr(Kind.Time)),
    conditions
  })
})

export const all = [Shard, SharedComponentProvider, Slice]
