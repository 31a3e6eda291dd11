/** A record's tenant, as its shard knows it. */
import type { Database } from "../Database.ts"
import type { Tenant } from "../Registry.ts"

export const tenantOf = ({ metadata, spec }: Database): Tenant => ({
  databaseName: spec.databaseName,
  roleName: spec.roleName,
  consumer: spec.consumerRef.name,
  externalId: spec.externalId,
  recordUid: metadata.uid
})
