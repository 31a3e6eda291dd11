/**
 * When a record's capsule is written.
 *
 * Until the first script starts it follows the shared component and its provider. From then on what may be outside has its place and
 * its names: the instance and the parameters stay as they were. The scripts can be mended until one of them may have succeeded, since
 * what was deployed is torn down by the script that belongs to it. What another backend is asked for stays from the first time on:
 * whether it has been made, only that backend knows.
 */
import type { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { Effect, Option, Result } from "effect"
import * as Capsules from "../../Capsules.ts"
import type * as ScriptJob from "../../ScriptJob.ts"
import { Settings } from "../../Settings.ts"
import type { Capsule } from "../../Slice.ts"
import type { SliceRecord } from "../../SliceRecord.ts"
import * as sources from "./sources.ts"

type ProvisionError = Disposition.ProvisionError
type Step = Effect.fn.Return<void, ProvisionError, Client | Settings>
type Outcome = ScriptJob.Entry["outcome"]

const outcomesOf = (record: SliceRecord): Effect.Effect<ReadonlyArray<Outcome>, ProvisionError> =>
  Effect.map(record.journal.entries, (entries) =>
    entries.filter(({ action }) => action === "provision").map(({ outcome }) => outcome)
  )

/** Before a slice is made. */
export const beforeProvision = Effect.fnUntraced(function* (record: SliceRecord): Step {
  const { spec } = yield* record.current
  if (spec.capsule?.backend !== undefined) return
  const outcomes = yield* outcomesOf(record)
  // What was adopted may be of a shared component that is not there any more: it stays what it was.
  if (spec.capsule !== undefined && (outcomes.includes("Succeeded") || spec.adoptedBy !== undefined)) return
  // Of the script that runs it is too late to change anything; if it fails, a mended provider revives the slice.
  if (spec.capsule !== undefined && outcomes.includes(undefined)) yield* Effect.ignore(found(record))
  else yield* write(record, outcomes)
})

/** The shared component, and the provider: once a script may have run, the one that it was of. */
const found = Effect.fnUntraced(function* (record: SliceRecord, outcomes: ReadonlyArray<Outcome> = [undefined]) {
  const slice = yield* record.current
  const shared = yield* sources.sharedComponent(slice)
  const before = outcomes.length === 0 ? undefined : slice.spec.capsule
  const name = before?.provider.name ?? shared.spec.providerRef.name
  return { slice, shared, before, provider: yield* sources.presentProvider(name, shared.metadata.name) }
})

const write = Effect.fnUntraced(function* (record: SliceRecord, outcomes: ReadonlyArray<Outcome>) {
  const { sharedNamespace } = yield* Settings
  const { before, provider, shared, slice } = yield* found(record, outcomes)
  const made = Capsules.make(slice, shared, provider, Identifier.Identifier.make(sharedNamespace))
  const capsule = yield* Effect.fromResult(before === undefined ? made : Capsules.revised(before, provider))
  yield* record.writeSpec({ capsule })
})

const isFailure = (outcome: Outcome): boolean => outcome === "Failed" || outcome === "DeadlineExceeded"

/**
 * Before a deprovision script: where every provision script is known to have failed, the provider may have been mended since. One whose
 * end nobody saw may have succeeded.
 */
export const beforeTeardown = Effect.fnUntraced(function* (record: SliceRecord, before: Capsule): Step {
  const { spec } = yield* record.current
  const outcomes = yield* outcomesOf(record)
  if (spec.adoptedBy !== undefined || !outcomes.every(isFailure)) return
  // A teardown needs neither the provider nor that it can be read.
  const provider = yield* Effect.catchTag(sources.provider(before.provider.name), "Terminal", () => Effect.succeedNone)
  if (Option.isNone(provider)) return
  const revised = Capsules.revised(before, provider.value)
  if (Result.isSuccess(revised)) yield* record.writeSpec({ capsule: revised.success })
})
