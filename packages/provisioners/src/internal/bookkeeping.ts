/** What a manager remembers of an object between passes, kept in the object's own status so that restarts keep it (P18, P19). */
import { createHash } from "node:crypto"
import * as Kind from "@berth/kube/Kind"
import type { KubeObject } from "@berth/kube/KubeObject"
import { Option, Schema } from "effect"
import type * as Disposition from "../Disposition.ts"
import * as Progress from "../Progress.ts"

const { optionalKey } = Schema

export const inputsMax = 64
/** Of a retry annotation that is longer the beginning is kept, and a digest of the whole. */
export const retryMax = 1024
const nameMax = 253

export const retryAnnotation = "berth.dev/retry"

const Input = Schema.Struct({
  apiVersion: Kind.Text(1, nameMax),
  kind: Kind.Text(1, nameMax),
  resource: Kind.Text(1, nameMax).pipe(Kind.described("The plural by which the API serves the kind.")),
  namespace: optionalKey(Kind.Text(1, nameMax)),
  name: Kind.Text(1, nameMax),
  fingerprint: Kind.Text(1, 128).pipe(
    Kind.described("Which version of the object was read; never made from its content.")
  )
}).pipe(Kind.described("An object that the user was expected to change."))

/** The schema of `status.provisioning`. */
export const schema = Schema.Struct({
  generation: Schema.Int.pipe(Kind.described("The generation that all of this is about; another one starts afresh.")),
  phase: Schema.Literals(["provision", "deprovision"]),
  retry: optionalKey(
    Kind.Text(0, retryMax).pipe(Kind.described("The value of the annotation berth.dev/retry by then."))
  ),
  attempts: Schema.Int.pipe(Kind.described("Failed passes in a row.")),
  firstFailureTime: optionalKey(Kind.Time),
  lastFailureTime: optionalKey(Kind.Time),
  nextRetryTime: optionalKey(Kind.Time),
  parked: optionalKey(
    Schema.Struct({
      since: Kind.Time,
      inputs: Schema.Array(Input).check(Schema.isMaxLength(inputsMax))
    }).pipe(Kind.described("Set while nothing is retried: until the generation, the annotation or an input changes."))
  ),
  progress: Progress.Entries
}).pipe(Kind.described("The manager's own record of this object."))

const encoded = Schema.toEncoded(schema)
/** As it stands in status. */
export type Bookkeeping = typeof encoded.Type
export type Input = NonNullable<Bookkeeping["parked"]>["inputs"][number]

/** What has to be the same for the record to count. */
export interface Epoch {
  readonly generation: number
  readonly phase: Progress.Phase
  readonly retry: string | undefined
}

const decode = Schema.decodeUnknownOption(encoded)

const retryOf = (value: string): string => {
  const characters = Array.from(value)
  if (characters.length <= retryMax) return value
  const digest = createHash("sha256").update(value).digest("hex").slice(0, 16)
  return `${characters.slice(0, retryMax - digest.length - 1).join("")}…${digest}`
}

/** What counts now. */
export const epochOf = (object: KubeObject, phase: Progress.Phase): Epoch => {
  const retry = object.metadata.annotations?.[retryAnnotation]
  return {
    generation: object.metadata.generation ?? 0,
    phase,
    retry: retry === undefined ? undefined : retryOf(retry)
  }
}

/** The record, if it is about this epoch. What cannot be read is as good as none. */
export const read = (stored: unknown, epoch: Epoch): Bookkeeping | undefined =>
  Option.getOrUndefined(
    Option.filter(
      decode(stored),
      ({ generation, phase, retry }) =>
        generation === epoch.generation && phase === epoch.phase && retry === epoch.retry
    )
  )

export const time = (ms: number): string => new Date(ms).toISOString()

const decodeProgress = Schema.decodeOption(Progress.Entries)
const encodeProgress = Schema.encodeSync(Progress.Entries)

/** The clocks of the passes before. */
export const progressOf = (before: Bookkeeping | undefined): ReadonlyArray<Progress.Entry> | undefined =>
  before === undefined ? undefined : Option.getOrUndefined(decodeProgress(before.progress))

/** What came of a pass, as far as the record is concerned. */
export interface Outcome {
  readonly progress: ReadonlyArray<Progress.Entry>
  /** What kept the pass from finishing, if anything. */
  readonly failure: Disposition.ProvisionError | undefined
  readonly countsAsFailure: boolean
  /** Failed passes in a row, this one included. */
  readonly attempts: number
  /** When to come back; undefined where the object parks or has nothing left to do. */
  readonly nextMs: number | undefined
  readonly inputs: ReadonlyArray<Input>
}

const failureTimes = (before: Bookkeeping | undefined, { countsAsFailure, nextMs }: Outcome, nowMs: number) => {
  if (!countsAsFailure) return {}
  const now = time(nowMs)
  return {
    firstFailureTime: before?.firstFailureTime ?? now,
    lastFailureTime: now,
    ...(nextMs === undefined ? {} : { nextRetryTime: time(nextMs) })
  }
}

/** The record after a pass. A pass without news gives an equal record, so that nothing is written. */
export const after = (before: Bookkeeping | undefined, epoch: Epoch, outcome: Outcome, nowMs: number): Bookkeeping => ({
  generation: epoch.generation,
  phase: epoch.phase,
  ...(epoch.retry === undefined ? {} : { retry: epoch.retry }),
  attempts: outcome.attempts,
  ...failureTimes(before, outcome, nowMs),
  ...(outcome.failure === undefined || outcome.nextMs !== undefined
    ? {}
    : { parked: { since: before?.parked?.since ?? time(nowMs), inputs: outcome.inputs.slice(0, inputsMax) } }),
  progress: encodeProgress(Progress.bounded(outcome.progress))
})
