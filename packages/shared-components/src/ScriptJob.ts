/**
 * Runs one of a provider's scripts as a Job: at least once, with an outcome that is remembered.
 *
 * The record is written first: an attempt has an entry before it has a Job, and an entry never stands for two Jobs.
 *
 * **Guarantees**
 * - S9: an outcome counts only for the entry that the Job was made for: same record, inputs, attempt and UID. A Job that is missing is
 *   lost, not new: the next attempt follows under the next number, so a number is used once.
 * - S25: what the templates make is in a Secret that the Job names, and in nothing else; the Secret goes when the attempt has ended.
 * - S15: a script that fails is tried again with growing pauses up to its limit, one that hangs ends at its deadline; its last words go
 *   to the log, without any secret that it was given. A teardown goes on beyond the limit, and says that it needs somebody.
 *
 * **Caveats**
 * - A script may run more than once, also after it succeeded: when the operator dies between a Job's end and the entry's.
 * - A request to make a Job that an operator sent before it died, and that reaches the cluster only after the next one has torn the
 *   slice down, starts a script that nobody waits for.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { DateTime, Effect, Option, Result } from "effect"
import * as attempts from "./internal/slices/attempts.ts"
import * as manifest from "./internal/slices/jobManifest.ts"
import * as lastWords from "./internal/slices/lastWords.ts"
import type { Script } from "./internal/script.ts"
import * as Names from "./Names.ts"
import type * as Template from "./Template.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * One attempt, as the record remembers it.
 *
 * @category models
 * @since 0.1.0
 */
export type Entry = attempts.Entry

/**
 * What a script is run for.
 *
 * @category models
 * @since 0.1.0
 */
export type Action = Entry["action"]

/**
 * Where entries are kept. `write` must fail when somebody else wrote meanwhile.
 *
 * @category models
 * @since 0.1.0
 */
export interface Journal {
  readonly entries: Effect.Effect<ReadonlyArray<Entry>, ProvisionError>
  readonly write: (entries: ReadonlyArray<Entry>) => Effect.Effect<void, ProvisionError, Client>
}

/**
 * Which script to run, and for what.
 *
 * @category models
 * @since 0.1.0
 */
export interface Order {
  readonly action: Action
  readonly script: Script
  /** Whose script it is, for messages. */
  readonly provider: Identifier.Identifier
  readonly sliceId: string
  /** Of the record. */
  readonly sliceUid: string
  /** Where the Job runs. */
  readonly namespace: Identifier.Identifier
  /** What the templates read, but for `.Attempt`. */
  readonly context: Template.Context
  /** Texts of the context that no log may show. */
  readonly secrets: ReadonlyArray<string>
  /** A digest of everything that makes a difference to the script. */
  readonly inputHash: string
  /** The value of `berth.dev/retry` on the record: another one forgets the failures so far. */
  readonly retry?: string | undefined
}

interface Place {
  readonly namespace: string
}

/**
 * Why a script has not succeeded.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `running` | the Job has not ended | looked at when it does | nothing |
 * | `stopping` | a Job is being stopped for a teardown | looked at when it is gone | nothing |
 * | `retrying`, `hanging` | an attempt failed, or met its deadline | tried again, after 5 s doubled up to 5 min | read the log |
 * | `vanishing` | Jobs go before their end is seen, again and again | tried again, with the same pauses | find out who removes them |
 * | `failed`, `timed_out` | the last of the attempts did | nothing | mend the provider, or annotate the record |
 * | `not_removed` | more attempts at a teardown failed than its script has retries | tried again, with the same pauses | mend what the script works on, or the script |
 * | `template_failed` | a template reads what is not there | nothing | mend the provider or its Secret |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("script", {
  running: Disposition.yield("The {action} script is running, attempt {attempt}."),
  stopping: Disposition.yield("Waiting for the {action} script to stop."),
  retrying: Disposition.transient(
    "The {action} script of the provider {provider} failed at attempt {attempt}, the Job {job}; trying again."
  ),
  hanging: Disposition.transient(
    "The {action} script of the provider {provider} did not end in time at attempt {attempt}, the Job {job}; trying again."
  ),
  vanishing: Disposition.transient(
    "The {action} script's Job was gone before its end, at attempt {attempt}; trying again."
  ),
  failed: Disposition.userActionRequired(
    "The {action} script of the provider {provider} failed {failures} times, last as the Job {job} in the namespace {namespace}: read that Job's log, then mend the provider, or annotate the slice with berth.dev/retry."
  ),
  timed_out: Disposition.userActionRequired(
    "The {action} script of the provider {provider} did not end in time, {failures} times, last as the Job {job} in the namespace {namespace}: read that Job's log, then mend the provider, or annotate the slice with berth.dev/retry."
  ),
  not_removed: Disposition.userActionRequired(
    "The {action} script of the provider {provider} has not succeeded in {attempt} attempts, the last of them the Job {job} in the namespace {namespace}; it goes on being tried. Read that Job's log, then mend what the script works on; or mend the script in the provider, and annotate the slice with berth.dev/refresh-deprovision and the provider's generation; or, as the last way out, give up what it stands for by berth.dev/abandon with the slice's UID {uid}."
  ),
  template_failed: Disposition.userActionRequired(
    "The {action} script of the provider {provider} cannot be rendered: see {place}, which reads what is not there or does not fit."
  )
})

/**
 * Succeeds once the script has succeeded for these inputs, in this pass or an earlier one; starts, watches and repeats it as needed.
 *
 * **Errors**: {@link Reasons}, and what a failed request to the cluster means.
 *
 * @category operations
 * @since 0.1.0
 */
export const run = Effect.fn("ScriptJob.run")(function* (
  order: Order,
  journal: Journal
): Effect.fn.Return<void, ProvisionError, Client> {
  const last = attempts.latest(order.action, yield* journal.entries)
  if (last === undefined) return yield* start(order, journal, 1)
  return yield* next(order, journal, last.outcome === undefined ? yield* observe(order, journal, last) : last)
})

/**
 * Ends a script that may still run, and waits until nothing of it is left.
 *
 * @category operations
 * @since 0.1.0
 */
export const stop = Effect.fn("ScriptJob.stop")(function* (
  target: Pick<Order, "action" | "sliceUid"> & Place,
  journal: Journal
): Effect.fn.Return<void, ProvisionError, Client> {
  const last = attempts.latest(target.action, yield* journal.entries)
  if (last === undefined || last.outcome !== undefined) return
  const client = yield* Client
  const ref = { name: last.name, namespace: target.namespace }
  // A Job that is not the one that was started is not for us to stop.
  const found = Option.filter(yield* KubeFailure.orNone(client.get(Builtin.Job, ref)), (job) => isOf(target, last, job))
  if (Option.isSome(found)) {
    const preconditions = { uid: found.value.metadata.uid }
    // In the foreground: the Job goes after its Pod, so that when it is gone nothing runs any more.
    const request = client.delete(Builtin.Job, ref, { preconditions, propagationPolicy: "Foreground" })
    if (found.value.metadata.deletionTimestamp === undefined) yield* KubeFailure.orNone(request)
    return yield* Reasons.stopping({ action: names[target.action] })
  }
  yield* journal.write(attempts.replaced(yield* journal.entries, yield* ended(last, "Lost")))
})

/**
 * Removes every Job and Secret that scripts of this slice left.
 *
 * @category operations
 * @since 0.1.0
 */
export const clear = Effect.fn("ScriptJob.clear")(function* (
  order: Pick<Order, "sliceId" | "sliceUid"> & Place
): Effect.fn.Return<void, ProvisionError, Client> {
  const client = yield* Client
  const selection = { namespace: order.namespace, labelSelector: `${sliceIdLabel}=${order.sliceId}` }
  for (const type of [Builtin.Job, Builtin.Secret]) {
    const { items } = yield* KubeFailure.classified(client.list(type, selection))
    // The label can be forged by whoever writes there; the annotation with the record's UID is ours.
    const ours = items.filter(({ metadata }) => metadata.annotations?.[manifest.annotations.slice] === order.sliceUid)
    yield* Effect.forEach(
      ours,
      ({ metadata }) => {
        const ref = { name: metadata.name, namespace: order.namespace }
        return KubeFailure.orNone(client.delete(type, ref, { preconditions: { uid: metadata.uid } }))
      },
      { concurrency: 4, discard: true }
    )
  }
})

/**
 * Whether a script may have run: there is an entry for it.
 *
 * @category getters
 * @since 0.1.0
 */
export const mayHaveRun = (entries: ReadonlyArray<Entry>, action: Action): boolean =>
  attempts.latest(action, entries) !== undefined

/**
 * Whether the script has succeeded for these inputs.
 *
 * @category getters
 * @since 0.1.0
 */
export const hasSucceeded = (entries: ReadonlyArray<Entry>, action: Action, inputHash: string): boolean => {
  const last = attempts.latest(action, entries)
  return last?.outcome === "Succeeded" && last.inputHash === inputHash
}

/**
 * An attempt of which nothing is known but that there may have been one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const unknown = (action: Action, sliceId: string, inputHash: string): Entry => ({
  name: Identifier.Identifier.make(Names.job(sliceId, action, 1)),
  action,
  attempt: 1,
  inputHash,
  outcome: "Lost"
})

/**
 * The label by which a slice's Jobs and Secrets are found.
 *
 * @category constants
 * @since 0.1.0
 */
export const sliceIdLabel = "berth.dev/slice-id"

const names: Readonly<Record<Action, Identifier.Identifier>> = {
  provision: Identifier.of("provision"),
  deprovision: Identifier.of("deprovision")
}

const ended = (entry: Entry, outcome: NonNullable<Entry["outcome"]>): Effect.Effect<Entry> =>
  Effect.map(DateTime.now, (finishedAt) => ({ ...entry, outcome, finishedAt }))

const next = Effect.fnUntraced(function* (
  order: Order,
  journal: Journal,
  last: Entry
): Effect.fn.Return<void, ProvisionError, Client> {
  if (last.outcome === "Succeeded" && last.inputHash === order.inputHash) return
  const entries = yield* journal.entries
  const action = names[order.action]
  if (last.outcome === "Lost") return yield* again(order, journal, last, attempts.lostInARow(order, entries))
  const failures = attempts.failuresOf(order, entries)
  if (failures === 0) return yield* start(order, journal, last.attempt + 1)
  const { namespace, provider } = order
  const timedOut = last.outcome === "DeadlineExceeded"
  const isOver = failures > order.script.retries
  const said = { action, provider, failures, job: last.name, namespace }
  if (isOver && order.action === "provision") return yield* (timedOut ? Reasons.timed_out : Reasons.failed)(said)
  const after = yield* attempts.leftMs(last, failures)
  if (after <= 0) return yield* start(order, journal, last.attempt + 1)
  // A slice that cannot be removed is tried again for ever: nothing else would remember it.
  const tried = { action, provider, attempt: last.attempt, job: last.name }
  const uid = Identifier.Identifier.make(order.sliceUid)
  if (isOver) return yield* Reasons.not_removed({ ...tried, namespace, uid })
  return yield* (timedOut ? Reasons.hanging : Reasons.retrying)(tried, { after })
})

/** One that is lost is repeated at once, as after a crash; one that is lost again and again is somebody else's doing. */
const again = Effect.fnUntraced(function* (order: Order, journal: Journal, last: Entry, times: number) {
  const after = times > 1 ? yield* attempts.leftMs(last, times - 1) : 0
  if (after <= 0) return yield* start(order, journal, last.attempt + 1)
  return yield* Reasons.vanishing({ action: names[order.action], attempt: last.attempt }, { after })
})

const inputOf = ({ sliceId }: Order, { action, attempt }: Entry): string => Names.jobInput(sliceId, action, attempt)

const manifestOf = (order: Order, entry: Entry): manifest.Manifest => ({
  name: entry.name,
  input: inputOf(order, entry),
  namespace: order.namespace,
  labels: { [sliceIdLabel]: order.sliceId },
  sliceUid: order.sliceUid,
  inputHash: entry.inputHash,
  attempt: entry.attempt,
  action: entry.action,
  script: order.script
})

/** The entry, the Secret, the Job, its UID, in this order: whatever is missing later tells how far it came. */
const start = Effect.fnUntraced(function* (
  order: Order,
  journal: Journal,
  attempt: number
): Effect.fn.Return<never, ProvisionError, Client> {
  const client = yield* Client
  const entry: Entry = {
    name: Identifier.Identifier.make(Names.job(order.sliceId, order.action, attempt)),
    action: order.action,
    attempt,
    inputHash: order.inputHash,
    ...(order.retry === undefined ? {} : { retry: order.retry })
  }
  const made = manifestOf(order, entry)
  const secret = yield* rendered(order, manifest.secret(made, { ...order.context, Attempt: attempt }))
  yield* journal.write(attempts.replaced(yield* journal.entries, entry))
  yield* KubeFailure.classified(client.create(Builtin.Secret, secret))
  const job = yield* KubeFailure.classified(client.create<KubeObject>(Builtin.Job, manifest.job(made)))
  yield* journal.write(attempts.replaced(yield* journal.entries, withUid(entry, job)))
  return yield* Reasons.running({ action: names[order.action], attempt })
})

const withUid = (entry: Entry, { metadata }: KubeObject): Entry =>
  metadata.uid === undefined ? entry : { ...entry, uid: Identifier.Identifier.make(metadata.uid) }

const rendered = <A>({ action, provider }: Order, result: Result.Result<A, Template.TemplateError>) =>
  Effect.mapError(Effect.fromResult(result), (error) => {
    const place = Option.getOrElse(
      Identifier.fromString(`${error.template}:${error.line}:${error.column}`),
      () => names[action]
    )
    return Reasons.template_failed({ action: names[action], provider, place }, { why: error.message })
  })

/** Looks at the Job of an entry without an outcome; returns the entry with its outcome, or yields. */
const observe = Effect.fnUntraced(function* (
  order: Order,
  journal: Journal,
  entry: Entry
): Effect.fn.Return<Entry, ProvisionError, Client> {
  const client = yield* Client
  const found = yield* KubeFailure.orNone(client.get(Builtin.Job, { name: entry.name, namespace: order.namespace }))
  const job = Option.getOrUndefined(Option.filter(found, (each) => isOf(order, entry, each)))
  const outcome = job === undefined ? "Lost" : outcomeOf(job)
  if (outcome === undefined) {
    if (job !== undefined && entry.uid === undefined) {
      yield* journal.write(attempts.replaced(yield* journal.entries, withUid(entry, job)))
    }
    return yield* Reasons.running({ action: names[order.action], attempt: entry.attempt })
  }
  if (outcome !== "Succeeded") yield* report(order, entry, outcome)
  // Before the outcome: after it nobody would look for the Secret again.
  yield* removeInput(order, entry)
  const done = yield* ended(job === undefined ? entry : withUid(entry, job), outcome)
  yield* journal.write(attempts.replaced(yield* journal.entries, done))
  return done
})

/** Whether this is the Job that the entry was written for, and not one of the same name. */
const isOf = (order: Pick<Order, "sliceUid">, entry: Entry, { metadata }: KubeObject): boolean =>
  (entry.uid === undefined || metadata.uid === entry.uid) && isMarked(order, entry, metadata.annotations)

const isMarked = ({ sliceUid }: Pick<Order, "sliceUid">, entry: Entry, marks: KubeObject["metadata"]["annotations"]) =>
  marks?.[manifest.annotations.slice] === sliceUid &&
  marks[manifest.annotations.inputHash] === entry.inputHash &&
  marks[manifest.annotations.attempt] === String(entry.attempt)

/** The Secret of this name, if it was made for the entry. */
const removeInput = Effect.fnUntraced(function* (order: Order, entry: Entry) {
  const client = yield* Client
  const ref = { name: inputOf(order, entry), namespace: order.namespace }
  const found = yield* KubeFailure.orNone(client.get(Builtin.Secret, ref))
  if (Option.isNone(found) || !isMarked(order, entry, found.value.metadata.annotations)) return
  yield* KubeFailure.orNone(client.delete(Builtin.Secret, ref, { preconditions: { uid: found.value.metadata.uid } }))
})

const outcomeOf = ({ status }: Builtin.Job): NonNullable<Entry["outcome"]> | undefined => {
  const ending = status?.conditions?.find(
    (each) => each.status === "True" && (each.type === "Complete" || each.type === "Failed")
  )
  if (ending === undefined) return undefined
  if (ending.type === "Complete") return "Succeeded"
  return ending.reason === "DeadlineExceeded" ? "DeadlineExceeded" : "Failed"
}

const report = Effect.fnUntraced(function* (order: Order, entry: Entry, outcome: string) {
  const words = yield* lastWords.read({ name: entry.name, namespace: order.namespace }, order.secrets)
  yield* Effect.logWarning("a script ended without success", {
    job: entry.name,
    attempt: entry.attempt,
    outcome,
    lastWords: words
  })
})
