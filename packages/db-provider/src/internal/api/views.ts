/** What the API shows of a record. */
import * as Conditions from "@berth/kube/Conditions"
import { DateTime, Redacted } from "effect"
import type * as Api from "../../Api.ts"
import type { Database, Phase } from "../../Database.ts"
import { phaseOf } from "../../Records.ts"
import type { Shard } from "../../Shard.ts"

/** In these phases nothing is missing that a reason would explain. */
const wellPhases: ReadonlySet<Phase> = new Set(["Ready", "SoftDeleted"])

const explained = (record: Database) => {
  const ready = Conditions.get(record.status?.conditions, "Ready")
  return wellPhases.has(phaseOf(record)) || ready === undefined || ready.status === "True"
    ? {}
    : { reason: ready.reason, message: ready.message }
}

export const summaryOf = (record: Database): Api.Summary => {
  const { metadata, spec, status } = record
  return {
    id: spec.externalId,
    phase: phaseOf(record),
    labels: spec.labels,
    shardSelector: spec.shardSelector,
    // The API server sets it on everything that it stores.
    createdAt: metadata.creationTimestamp ?? DateTime.makeUnsafe(0),
    ...(spec.deleteRequestedAt === undefined ? {} : { deleteRequestedAt: spec.deleteRequestedAt }),
    ...(status?.dropAfter === undefined ? {} : { dropAfter: status.dropAfter }),
    ...explained(record)
  }
}

export const connectionOf = ({ spec }: Database, shard: Shard, password: Redacted.Redacted): Api.Connection => {
  const { caBundle, host, port, sslmode } = shard.spec.endpoint
  const user = spec.roleName
  const database = spec.databaseName
  // Names and hosts have no character that means something in a URI, but for the colons of IPv6.
  const authority = `${user}:${encodeURIComponent(Redacted.value(password))}@${host.includes(":") ? `[${host}]` : host}:${port}`
  const uri = Redacted.make(`postgresql://${authority}/${database}?sslmode=${sslmode}`)
  return { host, port, database, user, password, sslmode, ...(caBundle === undefined ? {} : { caBundle }), uri }
}
