/**
 * What each provisioner of a tree did in a pass, and since when.
 *
 * **Guarantees**
 * - P4: a defect, or an error that no vocabulary declared, becomes the failure `internal_error` with a correlation id; the log has
 *   the id and the cause.
 * - P11: every pass records the outcome of every provisioner that it reached, and `Pending` for the others, each with the time
 *   since when it is so. In a trace each provisioner that ran is a span with its disposition and reason; a Yield is no error there.
 * - P12: `waitingSinceMs` is the clock of `Provisioner.withDeadline`. It lives in what {@link run} is given as `previous`: leave
 *   that out for a new generation or a requested retry, and the clock restarts.
 * - P13: an interrupted pass has no value, so there is nothing to write.
 *
 * **Caveats**
 * - A status holds a flat list instead of a tree, since a structural schema cannot recurse.
 *
 * @since 0.1.0
 */
import { DateTime, Effect, type Result, Schema, SchemaTransformation } from "effect"
import * as Disposition from "./Disposition.ts"
import * as pass from "./internal/pass.ts"
import type { Phase, State } from "./internal/pass.ts"
import type { Provisioner } from "./Provisioner.ts"

export type { Phase, State }

/** The longest path that a status holds. */
const pathMax = 1024
const entriesMax = 64

const Phases = Schema.Literals(["provision", "deprovision"])
const States = Schema.Literals(["Pending", "Running", "Ready", "Yield", "Transient", "Terminal", "UserActionRequired"])
const { message, reason, vocabulary } = Disposition.Shown.fields

const described =
  (description: string): (<S extends Schema.Top>(self: S) => S["Rebuild"]) =>
  (self) =>
    Schema.annotateEncoded({ description })(self)
/** What the API server and JavaScript read alike: of a date-time with a comma or an odd offset only one of them makes sense. */
const rfc3339 =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/u

const Time = Schema.String.check(Schema.isPattern(rfc3339)).pipe(
  Schema.decodeTo(Schema.DateTimeUtc, SchemaTransformation.dateTimeUtcFromString),
  Schema.annotateEncoded({ format: "date-time" })
)

/** Flat, and without the disposition, which is the state. */
const Stored = Schema.Struct({
  path: Schema.String.check(Schema.isMaxCodePoints(pathMax)).pipe(
    described("Names from the root of the tree, joined by slashes.")
  ),
  phase: Phases,
  state: States,
  vocabulary: Schema.optionalKey(vocabulary),
  reason: Schema.optionalKey(reason),
  message: Schema.optionalKey(message),
  since: Time.pipe(described("When this state and reason began.")),
  waitingSince: Schema.optionalKey(Time.pipe(described("Since when it has not been ready, whatever the reasons.")))
})

/**
 * One provisioner's outcome.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  /** Names from the root, joined by `/`; a slash within a name is written `~1`. */
  readonly path: string
  readonly phase: Phase
  readonly state: State
  readonly failure: Disposition.Shown | undefined
  /** When this state and reason began, in this pass or an earlier one. */
  readonly sinceMs: number
  /** When it was last not ready without a break, whatever the reasons; undefined while it is ready or was not reached. */
  readonly waitingSinceMs: number | undefined
}

const time = (atMs: number): DateTime.Utc => DateTime.makeUnsafe(atMs)

const restore = (stored: typeof Stored.Type): Entry => {
  const { message = "", path, phase, reason, since, state, vocabulary, waitingSince } = stored
  const disposition = state === "Pending" || state === "Running" || state === "Ready" ? undefined : state
  const failed = disposition !== undefined && vocabulary !== undefined && reason !== undefined
  return {
    path,
    phase,
    state,
    failure: failed ? { disposition, vocabulary, reason, message } : undefined,
    sinceMs: DateTime.toEpochMillis(since),
    waitingSinceMs: waitingSince && DateTime.toEpochMillis(waitingSince)
  }
}

const store = ({ failure, path, phase, sinceMs, state, waitingSinceMs }: Entry): typeof Stored.Type => ({
  path,
  phase,
  state,
  ...(failure !== undefined && { vocabulary: failure.vocabulary, reason: failure.reason, message: failure.message }),
  since: time(sinceMs),
  ...(waitingSinceMs !== undefined && { waitingSince: time(waitingSinceMs) })
})

/**
 * The schema of an entry. Encoded, it is flat: `path`, `phase`, `state`, `vocabulary`, `reason`, `message`, and the times `since` and
 * `waitingSince` in RFC 3339.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Entry: Schema.Codec<Entry, typeof Stored.Encoded> = Stored.pipe(
  Schema.decodeTo(
    Schema.Struct({
      path: Schema.String,
      phase: Phases,
      state: States,
      failure: Schema.UndefinedOr(Disposition.Shown),
      sinceMs: Schema.Int,
      waitingSinceMs: Schema.UndefinedOr(Schema.Int)
    }),
    SchemaTransformation.transform({ decode: restore, encode: store })
  )
)

/**
 * The list as a status holds it: at most 64 entries ({@link bounded}), merged by `path`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Entries = Schema.Array(Entry)
  .check(Schema.isMaxLength(entriesMax))
  .pipe(Schema.annotateEncoded({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["path"] }))

/**
 * A pass that ran to its end.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pass {
  readonly result: Result.Result<void, Disposition.ProvisionError>
  /** Depth first, in declared order; the root comes first. */
  readonly progress: ReadonlyArray<Entry>
}

/** Pending starts no clock: what was not reached has not been waited for. */
const waits = (state: State) => state !== "Ready" && state !== "Pending"

const entryOf = (cell: pass.Cell, before: Entry | undefined): Entry => {
  const { changedMs, failure, path, phase, state } = cell
  const sameFailure =
    failure === undefined || (before?.failure !== undefined && Disposition.sameReason(before.failure, failure))
  const same = before !== undefined && before.state === state && before.phase === phase && sameFailure
  return {
    path,
    phase,
    state,
    failure,
    sinceMs: same ? before.sinceMs : changedMs,
    waitingSinceMs: waits(state) ? (cell.waitingSinceMs ?? changedMs) : undefined
  }
}

const entriesOf = (cell: pass.Cell, previous: ReadonlyMap<string, Entry>): ReadonlyArray<Entry> => [
  entryOf(cell, previous.get(cell.path)),
  ...cell.children.flatMap((child) => entriesOf(child, previous))
]

/**
 * Runs one pass, and says what became of every provisioner.
 *
 * **Details**: `previous` is the progress of the pass before, from the object's status.
 *
 * **Errors**: never fails: the failure is in the result, and a defect is settled to one (P4). Interruption has no result (P13).
 *
 * **Example** (One pass, as a manager runs it)
 * ```ts
 * import * as Progress from "@berth/provisioners/Progress"
 * import * as Provisioner from "@berth/provisioners/Provisioner"
 * import { Effect } from "effect"
 *
 * const tree = Provisioner.make("database", { provision: Effect.void, deprovision: Effect.void })
 *
 * const program = Effect.gen(function*() {
 *   const first = yield* Progress.run(tree, "provision")
 *   return yield* Progress.run(tree, "provision", { previous: first.progress })
 * })
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = <R>(
  provisioner: Provisioner<R>,
  phase: Phase,
  options: { readonly previous?: ReadonlyArray<Entry> | undefined } = {}
): Effect.Effect<Pass, never, R> =>
  Effect.suspend(() => {
    const previous = new Map(options.previous?.map((entry) => [entry.path, entry]))
    return Effect.map(pass.run(provisioner, phase, previous), ({ cell, result }) => ({
      result,
      progress: entriesOf(cell, previous)
    }))
  })

const severity: Record<State, number> = {
  UserActionRequired: 0,
  Terminal: 1,
  Transient: 2,
  Yield: 3,
  Running: 4,
  Pending: 5,
  Ready: 6
}

/**
 * What a status can hold of a progress: the worst entries, still in declared order.
 *
 * **Details**: at most `limit` entries, 64 by default, which is what {@link Entries} accepts.
 *
 * **Caveats**: an entry whose path has more than 1,024 characters is left out. What is left out has no clock in the next pass.
 *
 * @category conversions
 * @since 0.1.0
 */
export const bounded = (progress: ReadonlyArray<Entry>, limit: number = entriesMax): ReadonlyArray<Entry> => {
  const worst = [...progress.entries()]
    .filter(([, { path }]) => path.length <= pathMax)
    .sort(([, a], [, b]) => severity[a.state] - severity[b.state])
    .slice(0, limit)
  const kept = new Set(worst.map(([index]) => index))
  return progress.filter((_, index) => kept.has(index))
}
