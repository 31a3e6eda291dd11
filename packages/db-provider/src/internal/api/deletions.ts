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
import { asProblem } from "./failures.ts"
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
  /** Into the version that was looked at, so that the time of the first wish stays. */
  const requested = (id: Id, attempt = 1): Effect.Effect<Database, Problem, Caller> =>
    Effect.gen(function* () {
      const record = yield* tenants.mine(id, lookup.fresh)
      if (record.spec.deleteRequestedAt !== undefined) return record
      const { name, namespace, resourceVersion, uid } = record.metadata
      const deleteRequestedAt = DateTime.formatIso(yield* DateTime.now)
      const patch = { metadata: { resourceVersion, uid }, spec: { deleteRequestedAt } }
      const patched = yield* Effect.result(client.patch(Database, { name, namespace }, { type: "merge", patch }))
      if (patched._tag === "Failure") {
        const { _tag } = patched.failure
        const isLate = _tag === "Conflict" || _tag === "NotFound"
        return yield* isLate && attempt < attemptsMax
          ? requested(id, attempt + 1)
          : asProblem(Effect.fail(patched.failure))
      }
      yield* audit.record({ event: "delete.requested", ...(yield* callerOf), ...AuditEvent.subjectOf(record) })
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
    const record = yield* requested(id)
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
