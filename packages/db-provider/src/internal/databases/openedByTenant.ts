/** Under `ownership: tenant` a tenant can let others in. Then its database is closed, and stays so until an administrator says otherwise. */
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import { Effect } from "effect"
import { Database } from "../../Database.ts"
import * as TenantClosing from "../../TenantClosing.ts"
import { tenantOf } from "../tenants.ts"
import { onShard, type Services } from "./onShard.ts"
import { Reasons } from "./reasons.ts"

type ProvisionError = Disposition.ProvisionError

/** By it an administrator opens such a database again: its value has to be the record's UID. */
export const reopenAnnotation = "db.berth.dev/reopen"

const type = "Isolated"
const fieldManager = "berth-db-isolated"

/** Whether a look found it open to others. */
export const isMarked = (conditions: Parameters<typeof Conditions.get>[0]): boolean =>
  Conditions.get(conditions, type)?.status === "False"

/** Notes it, before it is closed: a crash in between closes it in the next pass. */
export const mark = (database: Database): Effect.Effect<void, ProvisionError, Client> =>
  publish(database, {
    type,
    status: "False",
    reason: "opened_by_tenant",
    message: "The tenant had let others into its database, which is why it is closed."
  })

const publish = (database: Database, input: Conditions.Input) =>
  KubeFailure.classified(Conditions.apply(Database, database, [input], fieldManager))

/** Keeps it closed, or opens it where that is asked for. */
export const settle = Effect.fnUntraced(function* (
  database: Database
): Effect.fn.Return<void, ProvisionError, Services> {
  const { annotations, name, namespace, uid } = database.metadata
  const tenant = tenantOf(database)
  if (annotations[reopenAnnotation] !== uid) {
    yield* onShard(database, (server) => TenantClosing.close(server, tenant))
    // Its own annotations are what a person changes.
    yield* Manager.input(Database, { name, namespace })
    return yield* Reasons.opened_by_tenant({ uid })
  }
  yield* onShard(database, (server) => TenantClosing.reopen(server, tenant))
  yield* publish(database, {
    type,
    status: "True",
    reason: "reopened",
    message: "An administrator has opened the database again."
  })
  const patch = { metadata: { uid, annotations: { [reopenAnnotation]: null } } }
  yield* KubeFailure.classified(
    Client.use((client) => client.patch(Database, { name, namespace }, { type: "merge", patch }))
  )
})
