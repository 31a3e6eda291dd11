/**
 * One slice's own record while a pass works on it: read from the API server, written by compare-and-swap.
 *
 * **Guarantees**
 * - S7: a pass that works on an outdated record cannot write to it, and whoever writes sees what was written before.
 * - A write that would change nothing is not sent.
 *
 * @since 0.1.0
 */
import { Client } from "@berth/kube/Client"
import type * as Kind from "@berth/kube/Kind"
import type { Ref as ObjectRef } from "@berth/kube/KubeObject"
import * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Equal, Option, Ref } from "effect"
import type { Entry, Journal } from "./ScriptJob.ts"
import { Slice } from "./Slice.ts"

type ProvisionError = Disposition.ProvisionError
type Raw = Kind.Raw<typeof Slice>
type Status = NonNullable<Slice["status"]>
type Removable = "position" | "bindingSecret"

/**
 * Of a record.
 *
 * @category models
 * @since 0.1.0
 */
export type Metadata = Slice["metadata"]

/**
 * What makes a record unusable to a pass.
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("slice_record", {
  gone: Disposition.yield("The record was deleted, or replaced by another of its name."),
  unreadable: Disposition.terminal("The record has another shape than this version of the operator knows.")
})

/**
 * @category models
 * @since 0.1.0
 */
export interface SliceRecord {
  /** As it was last read or written. */
  readonly current: Effect.Effect<Slice>
  /** Writes these fields of the status, and takes those that are named off it. */
  readonly writeStatus: (
    fields: Partial<Status>,
    removed?: ReadonlyArray<Removable>
  ) => Effect.Effect<Slice, ProvisionError, Client>
  /** Writes these fields of the spec, and with them these annotations. */
  readonly writeSpec: (
    fields: Partial<Slice["spec"]>,
    annotations?: Readonly<Record<string, string | null>>
  ) => Effect.Effect<Slice, ProvisionError, Client>
  /** The attempts of its scripts. */
  readonly journal: Journal
}

/**
 * Reads the record of this UID.
 *
 * **Errors**: {@link Reasons}, and what a failed request means.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = Effect.fn("SliceRecord.open")(function* (
  ref: ObjectRef,
  uid: string
): Effect.fn.Return<SliceRecord, ProvisionError, Client> {
  const client = yield* Client
  const found = yield* KubeFailure.orNone(client.get(Slice, ref))
  if (Option.isNone(found) || found.value.metadata.uid !== uid) return yield* Reasons.gone()
  const state = yield* Ref.make(yield* decode(found.value))

  const store = Effect.fnUntraced(function* (patch: object, subresource: "status" | undefined, marks: object = {}) {
    const { metadata } = yield* Ref.get(state)
    const guarded = { metadata: { uid: metadata.uid, resourceVersion: metadata.resourceVersion, ...marks }, ...patch }
    const raw = yield* KubeFailure.classified(
      Client.use((each) => each.patch(Slice, ref, { type: "merge", patch: guarded }, { subresource }))
    )
    const written = yield* decode(raw)
    yield* Ref.set(state, written)
    return written
  })

  const writeStatus = Effect.fnUntraced(function* (fields: Partial<Status>, removed: ReadonlyArray<Removable> = []) {
    const slice = yield* Ref.get(state)
    const wanted = without({ ...statusOf(slice), ...fields }, removed)
    if (slice.status !== undefined && Equal.equals(wanted, slice.status)) return slice
    const encoded = yield* unreadable(Slice.encodeStatus(wanted))
    return yield* store({ status: picked(encoded, [...Object.keys(fields), ...removed]) }, "status")
  })

  const writeSpec = Effect.fnUntraced(function* (
    fields: Partial<Slice["spec"]>,
    annotations?: Readonly<Record<string, string | null>>
  ) {
    const slice = yield* Ref.get(state)
    const wanted = { ...slice.spec, ...fields }
    if (annotations === undefined && Equal.equals(wanted, slice.spec)) return slice
    const encoded = yield* unreadable(Slice.encodeSpec(wanted))
    const marks = annotations === undefined ? {} : { annotations }
    return yield* store({ spec: picked(encoded, Object.keys(fields)) }, undefined, marks)
  })

  return {
    current: Ref.get(state),
    writeStatus,
    writeSpec,
    journal: {
      entries: Effect.map(Ref.get(state), (slice) => statusOf(slice).jobs),
      write: (jobs: ReadonlyArray<Entry>) => Effect.asVoid(writeStatus({ jobs }))
    }
  }
})

/**
 * The status of a record, with what a record without one means.
 *
 * @category getters
 * @since 0.1.0
 */
export const statusOf = ({ status }: Slice): Status => status ?? { conditions: [], phase: "Waiting", jobs: [] }

const unreadable = <A>(part: Effect.Effect<A, { readonly message: string }>) =>
  Effect.mapError(part, (error) => Reasons.unreadable({ why: error.message, cause: error }))

const decode = (raw: Raw) => unreadable(Slice.decode(raw))

/** Typed by what is left: an optional field may be missing, but may not be undefined. */
const without = (status: Status, removed: ReadonlyArray<Removable>): Status => {
  const { bindingSecret, position, ...rest } = status
  return {
    ...rest,
    ...(position === undefined || removed.includes("position") ? {} : { position }),
    ...(bindingSecret === undefined || removed.includes("bindingSecret") ? {} : { bindingSecret })
  }
}

/** The encoded counterparts of the changed fields; one that is not there any more is null, as a merge patch says it. */
const picked = (encoded: object, keys: ReadonlyArray<string>): Record<string, unknown> => {
  const all = new Map<string, unknown>(Object.entries(encoded))
  return Object.fromEntries(keys.map((key) => [key, all.get(key) ?? null]))
}
