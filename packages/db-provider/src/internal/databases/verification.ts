/** Looks at databases that were given to their tenants: nothing of them is changed but their limits, what is not as it was made is said. */
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Conditions from "@berth/kube/Conditions"
import * as Events from "@berth/kube/Events"
import * as Disposition from "@berth/provisioners/Disposition"
import { Clock, Duration, Effect, Option } from "effect"
import * as Consent from "../../Consent.ts"
import * as Credentials from "../../Credentials.ts"
import { Database } from "../../Database.ts"
import { isPostgresError } from "../../PostgresError.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { Settings } from "../../Settings.ts"
import * as ShardServer from "../../ShardServer.ts"
import * as TenantCreation from "../../TenantCreation.ts"
import { tenantOf } from "../tenants.ts"
import * as limits from "./limits.ts"
import type { Memory } from "./memory.ts"
import { onShard, type Services } from "./onShard.ts"

type ProvisionError = Disposition.ProvisionError

/** How often each is looked at. */
export const every = Duration.hours(1)

/** Rounds are never quite as long as they should be. */
const dueAfterMs = Duration.toMillis(every) / 2

export const type = "Verified"
const fieldManager = "berth-db-verified"

type Verdict = Conditions.Input

const well: Verdict = {
  type,
  status: "True",
  reason: "verified",
  message: "The database is as it was made, and its tenant can log in with the stored password."
}

const ill = (reason: string, message: string): Verdict => ({ type, status: "False", reason, message })

const differs = ill(
  "differs",
  "The database, its role or its privileges are not as they were made: the provider's log lists how."
)
const passwordChanged = ill(
  "password_changed",
  "The tenant has changed its own password: the stored one, which the API gives, no longer works."
)
const passwordLost = ill(
  "password_lost",
  "The Secret with the password is gone, and the server has only a verifier of it: put it back from a backup."
)

const passwordDeleted = ill(
  "password_deleted",
  `Somebody has deleted the Secret with the password. Its finalizer ${Consent.finalizer} keeps it, and the tenant is served on. The password is nowhere else: copy the Secret first, then take the finalizer off, and make it anew from the copy.`
)

const isWrongPassword = ({ cause }: ProvisionError): boolean =>
  isPostgresError(cause) && TenantCreation.isWrongPassword(cause)

/** What a failure says of the database; none where it says something of the shard, or the cluster. */
const verdictOf = (failure: ProvisionError): Option.Option<Verdict> => {
  if (TenantCreation.Reasons.differs.is(failure)) return Option.some(differs)
  if (TenantCreation.Reasons.login_fails.is(failure) && isWrongPassword(failure)) return Option.some(passwordChanged)
  return Option.none()
}

const look = Effect.fnUntraced(function* (
  database: Database,
  { leaving }: Memory
): Effect.fn.Return<Option.Option<Verdict>, ProvisionError, Services> {
  const { releaseNamespace } = yield* Settings
  const password = yield* Credentials.read(database.spec.databaseName, releaseNamespace)
  if (Option.isNone(password)) return Option.some(passwordLost)
  const tenant = tenantOf(database)
  yield* onShard(database, (server) =>
    Effect.andThen(
      ShardServer.maintain(server, (connection) =>
        Effect.andThen(
          limits.apply(connection, server.settings, tenant),
          TenantCreation.verify(connection, server, tenant)
        )
      ),
      TenantCreation.verifyLogin(server, tenant, password.value)
    )
  )
  return Option.some(leaving.has(database.spec.databaseName) ? passwordDeleted : well)
})

const isDue = (database: Database, { verifiedMs }: Memory, nowMs: number): boolean => {
  const before = verifiedMs.get(database.metadata.uid)
  if (before !== undefined && nowMs - before < dueAfterMs) return false
  verifiedMs.set(database.metadata.uid, nowMs)
  // A process that starts does not look at everything at once: its first round does.
  return before !== undefined
}

/** Looks, where it is time to. A database that is not well is served on: what is given cannot be taken back by saying so. */
export const verified = Effect.fnUntraced(function* (
  database: Database,
  memory: Memory
): Effect.fn.Return<void, ProvisionError, Services> {
  if (!isDue(database, memory, yield* Clock.currentTimeMillis)) return
  const verdict = yield* look(database, memory).pipe(
    Effect.tapError((failure) => unwell(database, failure)),
    Effect.catch((failure) => Effect.succeed(verdictOf(failure)))
  )
  if (Option.isSome(verdict)) yield* say(database, verdict.value)
})

/** Whether a database that was given under another record can be served as it is, without its password being written again. */
export const isWhole = Effect.fnUntraced(function* (
  database: Database,
  memory: Memory
): Effect.fn.Return<boolean, ProvisionError, Services> {
  const verdict = yield* look(database, memory).pipe(
    Effect.catch((failure) =>
      Option.match(verdictOf(failure), { onNone: () => Effect.fail(failure), onSome: Effect.succeedSome })
    )
  )
  if (Option.exists(verdict, ({ reason }) => reason === passwordChanged.reason)) yield* say(database, passwordChanged)
  const whole = [well, passwordChanged, passwordDeleted].map(({ reason }) => reason)
  return Option.exists(verdict, ({ reason }) => whole.includes(reason))
})

const say = Effect.fnUntraced(function* (database: Database, verdict: Verdict) {
  const before = database.status?.conditions.find((condition) => condition.type === type)
  // What was never ill needs no word.
  if (verdict.status === "True" && before === undefined) return
  yield* KubeFailure.classified(Conditions.apply(Database, database, [verdict], fieldManager))
  if (verdict.status === "True" || before?.reason === verdict.reason) return
  yield* Events.recordIfAny({
    regarding: Events.regarding(Database, database.metadata),
    type: "Warning",
    reason: verdict.reason,
    action: "Verify",
    note: verdict.message
  })
})

const unwell = Effect.fnUntraced(function* ({ spec }: Database, failure: ProvisionError) {
  yield* Effect.logWarning("a database is not as it was made, or could not be looked at", {
    database: spec.databaseName,
    reason: failure.reason,
    why: failure.why
  })
  const { cause } = failure
  if (TenantCreation.Reasons.login_fails.is(failure) && isPostgresError(cause)) {
    yield* ProviderMetrics.loginRefused(spec.shardRef?.name ?? "", cause)
  }
})
