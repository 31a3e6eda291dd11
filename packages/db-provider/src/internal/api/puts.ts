/** What a PUT means: a record that is written, or found, and then waited for. */
import { Effect, Equal, Option, Schedule } from "effect"
import type * as Api from "../../Api.ts"
import { Caller } from "../../Caller.ts"
import * as Consent from "../../Consent.ts"
import type { Consumer } from "../../Consumer.ts"
import type { Database } from "../../Database.ts"
import * as Names from "../../Names.ts"
import { Problem } from "../../Problem.ts"
import type { Creation, Wanted } from "./creation.ts"
import type { Lookup } from "./lookup.ts"
import { askLaterSeconds, type Outcome, pending } from "./outcome.ts"
import { isOf, type Tenants } from "./tenants.ts"
import { phaseOf } from "../../Records.ts"
import * as Views from "./views.ts"

interface Parts {
  readonly creation: Creation
  readonly lookup: Lookup
  readonly tenants: Tenants
}

/** A record, and whether this request wrote it. */
interface Written {
  readonly isNew: boolean
  readonly record: Database
}

const taken = new Problem({
  code: "id_taken",
  detail: "an earlier consumer of this name had a database of this id; whoever runs the provider knows more"
})

const ending = new Problem({
  code: "being_deleted",
  detail: "the database of this id is deleted, and kept until its grace period is over",
  retryAfterSeconds: askLaterSeconds
})

const different = new Problem({
  code: "parameters_differ",
  detail: "the database of this id has other labels, or another selector"
})

const vanished = new Problem({
  code: "unavailable",
  detail: "the database of this id came and went while it was looked for",
  retryAfterSeconds: 1
})

const isAskedFor = ({ spec }: Database, { labels = {}, shardSelector }: Api.Parameters): boolean =>
  Equal.equals(spec.labels, labels) && Equal.equals(spec.shardSelector.matchLabels, shardSelector?.matchLabels ?? {})

/** What was there before, unless it is not what is wanted. */
const usable = (record: Database, consumer: Consumer, parameters: Api.Parameters): Effect.Effect<Written, Problem> => {
  if (!isOf(record, consumer)) return Effect.fail(taken)
  if (Consent.isGiven(record)) return Effect.fail(ending)
  return isAskedFor(record, parameters) ? Effect.succeed({ isNew: false, record }) : Effect.fail(different)
}

const isQuota = ({ code }: Problem): boolean => code === "quota_exceeded"

const late = Schedule.spaced("250 millis")

export const make = ({ creation, lookup, tenants }: Parts) => {
  /** Another replica may have taken the last place for this very id, and be about to write the record. */
  const lateOr = (name: string, problem: Problem) =>
    lookup.fresh(name).pipe(
      Effect.repeat({ until: Option.isSome, schedule: late, times: 2 }),
      Effect.flatMap((found) => (Option.isSome(found) ? Effect.succeedNone : Effect.fail(problem)))
    )

  const written = Effect.fnUntraced(function* (name: string, wanted: Wanted) {
    const { consumer } = yield* Caller
    const known = yield* lookup.known(name)
    const before = Option.isSome(known) ? yield* lookup.fresh(name) : known
    if (Option.isSome(before)) return yield* usable(before.value, consumer, wanted.parameters)
    const made = yield* Effect.catchIf(creation.create(wanted), isQuota, (problem) => lateOr(name, problem))
    if (Option.isSome(made)) {
      const record = yield* lookup.understood(made.value)
      yield* creation.settle(record)
      return { isNew: true, record }
    }
    const other = yield* lookup.fresh(name)
    return Option.isSome(other) ? yield* usable(other.value, consumer, wanted.parameters) : yield* vanished
  })

  return Effect.fn("Requests.put")(function* (id: Wanted["id"], parameters: Api.Parameters, waitSeconds: number) {
    const { consumer } = yield* Caller
    const name = Names.record(consumer.metadata.name, id)
    const { isNew, record } = yield* written(name, { id, parameters })
    const look = Effect.gen(function* () {
      const current = yield* tenants.latest(record)
      const connection = yield* tenants.handedOver(current)
      if (Option.isSome(connection)) {
        const database = { ...Views.summaryOf(current), connection: connection.value }
        return Option.some<Outcome<Api.ReadyDatabase>>({ _tag: "Done", isNew, database })
      }
      return phaseOf(current) === "Failed" ? Option.some(pending(current)) : Option.none()
    })
    const outcome = yield* tenants.within(name, waitSeconds, look)
    return Option.isSome(outcome) ? outcome.value : pending(yield* tenants.latest(record))
  })
}
