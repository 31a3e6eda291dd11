/** What a DELETE means: the wish, written into the record, and then that it is closed. */
import type { Client } from "@berth/kube/Client"
import { DateTime, Effect, Option } from "effect"
import type * as Api from "../../Api.ts"
import type { Audit } from "../../Audit.ts"
import * as AuditEvent from "../../AuditEvent.ts"
import type { Caller } from "../../Caller.ts"
import { Database } from "../../Database.ts"
import type { Problem } from "../../Problem.ts"
import { isClosed } from "../../Records.ts"
import { callerOf } from "./caller.ts"
import { asProblem, isOpen } from "./failures.ts"
import type { Lookup } from "./lookup.ts"
import { type Outcome, pending } from "./outcome.ts"
import type { Tenants } from "./tenants.ts"
import * as Views from "./views.ts"

interface Parts {
  readonly audit: Audit["Service"]
  readonly client: Client["Service"]
  readonly lookup: Lookup
  readonly tenants: Tenants
}

type Id = Api.Summary["id"]

/** Controllers write into the record's status meanwhile. */
const attemptsMax = 6

export const make = ({ audit, client, lookup, tenants }: Parts) => {
  const told = (record: Database) =>
    Effect.flatMap(callerOf, (caller) =>
      audit.record({ event: "delete.requested", ...caller, ...AuditEvent.subjectOf(record) })
    )

  /** Into the version that was looked at, so that the time of the first wish stays. */
  const requested = (id: Id, at: DateTime.Utc, attempt = 1): Effect.Effect<Database, Problem, Caller> =>
    Effect.gen(function* () {
      const record = yield* tenants.mine(id, lookup.fresh)
      if (record.spec.deleteRequestedAt !== undefined) {
        // The answer to an earlier attempt was lost, and not what it did.
        if (attempt > 1 && DateTime.Equivalence(record.spec.deleteRequestedAt, at)) yield* told(record)
        return record
      }
      const { name, namespace, resourceVersion, uid } = record.metadata
      const deleteRequestedAt = DateTime.formatIso(at)
      const patch = { metadata: { resourceVersion, uid }, spec: { deleteRequestedAt } }
      const patched = yield* Effect.result(client.patch(Database, { name, namespace }, { type: "merge", patch }))
      if (patched._tag === "Failure") {
        const { _tag } = patched.failure
        const isLate = _tag === "Conflict" || _tag === "NotFound"
        return yield* (isLate && attempt < attemptsMax) || (isOpen(patched.failure) && attempt === 1)
          ? requested(id, at, attempt + 1)
          : asProblem(Effect.fail(patched.failure))
      }
      yield* told(record)
      return yield* lookup.understood(patched.success)
    })

  /** The record as it is known to be; that it is not there is asked of the API server. */
  const standing = Effect.fnUntraced(function* ({
    metadata
  }: Database): Effect.fn.Return<Option.Option<Database>, Problem> {
    const isIt = (other: Database) => other.metadata.uid === metadata.uid
    const known = Option.filter(yield* lookup.known(metadata.name), isIt)
    return Option.isSome(known) ? known : Option.filter(yield* lookup.fresh(metadata.name), isIt)
  })

  return Effect.fn("Requests.remove")(function* (id: Id, waitSeconds: number) {
    const record = yield* requested(id, yield* DateTime.now)
    const { name } = record.metadata
    const look = Effect.map(standing(record), (current) => {
      // What never had a place has nothing to be kept, and goes at once.
      const database: Api.Summary = Option.match(current, {
        onNone: () => ({ ...Views.summaryOf(record), phase: "Dropping" }),
        onSome: Views.summaryOf
      })
      return isClosed(database.phase)
        ? Option.some<Outcome<Api.Summary>>({ _tag: "Done", isNew: false, database })
        : Option.none()
    })
    const outcome = yield* tenants.within(name, waitSeconds, look)
    return Option.isSome(outcome) ? outcome.value : pending(yield* tenants.latest(record))
  })
}
