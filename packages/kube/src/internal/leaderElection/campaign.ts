/** How a candidate comes to hold the Lease. */
import { type Clock, Effect, Random } from "effect"
import * as Builtin from "../../Builtin.ts"
import type { Client } from "../../Client.ts"
import type { KubeError } from "../../KubeError.ts"
import * as Record from "./record.ts"
import type { Settings } from "./settings.ts"

/** What all parts of one election share. */
export interface Election {
  readonly settings: Settings
  readonly client: Client["Service"]
  readonly clock: Clock.Clock
  /** What to write, another one each time. */
  readonly writing: () => Record.Writing
  /** Told before a claim is sent: until when it counts, whether or not its answer comes. */
  readonly claims: (untilNanos: bigint) => void
}

export const nanos = (ms: number): bigint => BigInt(Math.round(ms * 1e6))

/** None where the request fails with one of these, which mean that somebody was faster. */
export const unless = <A, R>(
  request: Effect.Effect<A, KubeError, R>,
  ...tags: ReadonlyArray<KubeError["_tag"]>
): Effect.Effect<A | undefined, KubeError, R> =>
  Effect.catch(request, (error) => (tags.includes(error._tag) ? Effect.undefined : Effect.fail(error)))

export const read = ({ client, settings }: Election): Effect.Effect<Builtin.Lease | undefined, KubeError> =>
  unless(client.get(Builtin.Lease, settings, { deadline: settings.requestMs }), "NotFound")

/** What was seen last in other hands, and since when. */
interface Seen {
  readonly mark: string
  readonly sinceNanos: bigint
  readonly durationMs: number
}

export interface Won {
  readonly lease: Builtin.Lease
  readonly untilNanos: bigint
}

/** What a person does about a refusal. A role in a namespace that is not there cannot be, so that it may look like a missing right. */
const why = (error: KubeError, { namespace, namespaceFlag }: Settings): string => {
  const another = namespaceFlag === undefined ? "" : `, or name another one with ${namespaceFlag}`
  if (error._tag === "NotFound") return `there is no namespace ${namespace}: create it${another}`
  if (error._tag === "Forbidden")
    return `${error.message}: if there is a namespace ${namespace}, allow that there${another}`
  return error.message
}

export const make = (election: Election): Effect.Effect<Won> => {
  const { client, clock, settings } = election
  const ref = { name: settings.name, namespace: settings.namespace }
  let seen: Seen | undefined
  /** Whether the server refused what else stands in the Lease. */
  let anew = false
  let complaint = ""

  /** How long the Lease has to be left alone yet. */
  const patienceNanos = (lease: Builtin.Lease | undefined): bigint => {
    // Nobody has held it, as far as this candidate knows.
    if (lease === undefined && seen === undefined) return 0n
    // The latter: an answer was lost, and nobody has taken it since.
    if (lease !== undefined && (Record.isReleased(lease) || Record.holder(lease) === settings.identity)) return 0n
    const now = clock.monotonicTimeNanosUnsafe()
    const mark = lease === undefined ? "gone" : Record.mark(lease)
    if (seen?.mark !== mark) {
      const durationMs = lease === undefined ? seen?.durationMs : Record.durationMs(lease, settings)
      seen = { mark, sinceNanos: now, durationMs: durationMs ?? settings.leaseDurationMs }
    }
    const left = seen.sinceNanos + nanos(seen.durationMs) - now
    return left > 0n ? left : 0n
  }

  const claim = Effect.fnUntraced(function* (lease: Builtin.Lease | undefined) {
    // Before it is sent: whoever sees the change sees it later than this.
    const untilNanos = clock.monotonicTimeNanosUnsafe() + nanos(settings.renewDeadlineMs)
    election.claims(untilNanos)
    const options = { deadline: settings.requestMs }
    const spec = Record.claimed(anew ? undefined : lease, election.writing())
    // With the version that was judged: whoever changed the Lease meanwhile keeps it.
    const request =
      lease === undefined
        ? client.create(Builtin.Lease, { metadata: ref, spec }, options)
        : client.update(Builtin.Lease, { ...lease, spec }, options)
    const answer = yield* unless(request, "Conflict", "AlreadyExists")
    return answer === undefined || clock.monotonicTimeNanosUnsafe() >= untilNanos
      ? undefined
      : { lease: answer, untilNanos }
  })

  const complain = (error: KubeError) => {
    anew = error._tag === "Invalid"
    const again = complaint === error.message
    complaint = error.message
    const text = `cannot take part in the election of ${settings.namespace}/${settings.name}: ${why(error, settings)}`
    return again ? Effect.logDebug(text) : Effect.logWarning(text)
  }

  const look = Effect.gen(function* () {
    const lease = yield* read(election)
    const patience = patienceNanos(lease)
    return patience === 0n ? ((yield* claim(lease)) ?? settings.lookMs) : Math.ceil(Number(patience) / 1e6)
  }).pipe(Effect.catch((error) => Effect.as(complain(error), settings.lookMs)))

  return Effect.gen(function* () {
    while (true) {
      const found = yield* look
      if (typeof found !== "number") return found
      yield* Effect.sleep(Math.min(found, settings.lookMs * (0.5 + (yield* Random.next) / 2)))
    }
  })
}
