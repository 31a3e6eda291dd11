/** How a leader stays one, and how it gives the Lease back. */
import { Effect, Random } from "effect"
import * as Builtin from "../../Builtin.ts"
import { type Election, nanos, read, unless, type Won } from "./campaign.ts"
import { guard } from "./guard.ts"
import * as Record from "./record.ts"
import * as Term from "./term.ts"

/** Written again at once, if what was read shows that nobody else has it: this often. */
const conflictsMost = 3

/** Renews once. A Lease in other hands, or gone, ends the term. */
const renew = Effect.fnUntraced(function* (election: Election, term: Term.Term, lease: Builtin.Lease) {
  const { client, clock, settings } = election
  let current = lease
  for (let attempt = 0; attempt < conflictsMost; attempt++) {
    // Before it is sent: whoever sees the change sees it later than this.
    const untilNanos = clock.monotonicTimeNanosUnsafe() + nanos(settings.renewDeadlineMs)
    const next = Record.renewed(current, election.writing())
    const answer = yield* unless(
      client.update(Builtin.Lease, next, { deadline: settings.requestMs }),
      "Conflict",
      "NotFound"
    )
    if (answer !== undefined) {
      term.extend(untilNanos)
      return answer
    }
    const found = yield* read(election)
    if (found === undefined || Record.holder(found) !== settings.identity) {
      term.end()
      return current
    }
    current = found
  }
  return current
})

/** Renews until the term ends. */
const renewing = Effect.fnUntraced(function* (election: Election, term: Term.Term, won: Won) {
  const { retryPeriodMs } = election.settings
  let { lease } = won
  while (term.holds()) {
    yield* Effect.sleep(retryPeriodMs * (0.75 + (yield* Random.next) / 4))
    lease = yield* Effect.catch(renew(election, term, lease), (error) =>
      Effect.as(Effect.logWarning(`the Lease is not renewed: ${error.message}`), lease)
    )
  }
})

const expiring = Effect.fnUntraced(function* (term: Term.Term) {
  while (term.holds()) yield* Effect.sleep(term.remainingMs())
})

/** Keeps the term going for as long as that is possible. It ends with the term. */
export const keep = (election: Election, term: Term.Term, won: Won): Effect.Effect<void> => {
  const guarded = { ...election, client: guard(election.client, term) }
  return Effect.raceFirst(renewing(guarded, term, won), expiring(term))
}

const give = Effect.fnUntraced(function* ({ client, settings, writing }: Election) {
  const found = yield* unless(client.get(Builtin.Lease, settings, { deadline: settings.requestMs }), "NotFound")
  if (found === undefined || Record.holder(found) !== settings.identity) return true
  const next = Record.released(found, writing())
  return (yield* unless(client.update(Builtin.Lease, next, { deadline: settings.requestMs }), "Conflict")) !== undefined
})

/**
 * Gives the Lease back, so that the next one need not wait. Whoever has taken it meanwhile keeps it. What cannot be done before
 * the renew deadline is left undone: the Lease expires by itself.
 */
export const release = (election: Election, untilNanos: bigint): Effect.Effect<void> => {
  const rest = Term.make(election.clock, untilNanos)
  const { name, namespace, requestMs } = election.settings
  // A renewal that was under way when it was interrupted may come in between.
  return Effect.repeat(give({ ...election, client: guard(election.client, rest) }), {
    until: (given) => given,
    times: conflictsMost
  }).pipe(
    // It runs as the scope closes, where nothing can be interrupted otherwise.
    Effect.interruptible,
    Effect.timeout(Math.min(rest.remainingMs(), requestMs)),
    Effect.andThen(Effect.logInfo(`gave back ${namespace}/${name}`)),
    Effect.catchCause((cause) => Effect.logWarning(`could not give back ${namespace}/${name}`, cause))
  )
}
