/**
 * Who has a place at a shared component: the authority on its capacity.
 *
 * One ConfigMap a shared component, changed by compare-and-swap on its resourceVersion only. It holds the UIDs of the Slice records
 * that have a place, so it is small (at most 1,000 of them), and it can be made again from the records when it is lost.
 *
 * **Guarantees**
 * - S1: a place is given only by a write that the API server accepts on the version that was judged, so two writers cannot give the
 *   last place twice, whatever Leases, clocks and caches say.
 * - A ledger that is lost, was edited into nonsense, or belongs to an earlier shared component of the same name is made again from
 *   the records that the caller reads.
 *
 * **Caveats**
 * - While a lost ledger is made again, a writer that was admitted by the old one may be missing from the new one. Whoever acts on a
 *   place asks {@link holds} before, and {@link reserve}s again where the answer is no.
 *
 * @since 0.1.0
 */
import * as AtomicConfigMap from "@berth/kube/AtomicConfigMap"
import * as Builtin from "@berth/kube/Builtin"
import type { Change } from "@berth/kube/Change"
import { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Effect, Option, Schema } from "effect"

/**
 * Which ledger: of one shared component, as it is now (an object of the same name that came later is another one).
 *
 * @category models
 * @since 0.1.0
 */
export interface Book extends AtomicConfigMap.Place {
  /** The UIDs of the records that have a place, read from the API server: asked only where the ledger has to be made. */
  readonly members: Effect.Effect<ReadonlyArray<string>, KubeError.KubeError, Client>
}

/**
 * The annotation that says which shared component a ledger is of.
 *
 * @category constants
 * @since 0.1.0
 */
export const ownerAnnotation = "berth.dev/shared-component-uid"

/**
 * Gives `member` a place, unless all `placesMax` are taken. It has one afterwards also when it had one before.
 *
 * **Errors**: what the client fails with; a Conflict only when the ledger went on changing for all of the attempts.
 *
 * @category operations
 * @since 0.1.0
 */
export const reserve = (
  book: Book,
  member: string,
  placesMax: number
): Effect.Effect<boolean, KubeError.KubeError, Client> =>
  change(book, (members) => {
    if (members.includes(member)) return [true, members]
    return members.length < placesMax ? [true, [...members, member]] : [false, members]
  })

/**
 * Takes the place of `member` back, if it has one. A ledger that is not there is not made: what makes it reads the records.
 *
 * @category operations
 * @since 0.1.0
 */
export const release = (book: Book, member: string): Effect.Effect<void, KubeError.KubeError, Client> =>
  Effect.flatMap(holds(book, member), (isMember) =>
    isMember ? change(book, (members) => [undefined, members.filter((each) => each !== member)]) : Effect.void
  )

/**
 * Removes the ledger, where places are not limited any more: whoever comes now is not in it, so that it could not be trusted later.
 *
 * @category operations
 * @since 0.1.0
 */
export const forget = Effect.fn("Ledger.forget")(function* (
  book: Book
): Effect.fn.Return<void, KubeError.KubeError, Client> {
  const { object } = yield* read(book)
  if (Option.isNone(object)) return
  const client = yield* Client
  const { name, namespace, uid } = object.value.metadata
  yield* Effect.catchTag(
    client.delete(Builtin.ConfigMap, { name, namespace }, { preconditions: { uid } }),
    "NotFound",
    () => Effect.void
  )
})

/**
 * Whether `member` has a place now, by the API server's word.
 *
 * @category operations
 * @since 0.1.0
 */
export const holds = (book: Book, member: string): Effect.Effect<boolean, KubeError.KubeError, Client> =>
  Effect.map(read(book), ({ value }) => Option.exists(value, (members) => members.includes(member)))

/**
 * Keeps only the members that `keep` says still have a record, and returns those that it dropped.
 *
 * @category operations
 * @since 0.1.0
 */
export const audit = (
  book: Book,
  keep: (member: string) => Effect.Effect<boolean, KubeError.KubeError, Client>
): Effect.Effect<ReadonlyArray<string>, KubeError.KubeError, Client> =>
  Effect.gen(function* () {
    const { value } = yield* read(book)
    if (Option.isNone(value)) return []
    const gone = yield* Effect.filter(value.value, (member) => Effect.map(keep(member), (kept) => !kept))
    if (gone.length === 0) return []
    return yield* change(book, (now) => [gone, now.filter((each) => !gone.includes(each))])
  })

/**
 * Whether a change of a ConfigMap gave places back, as far as its text tells: it is about whom to wake, not about who gets them.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isGivenBack = ({ _tag, object, previous }: Change<Builtin.ConfigMap>): boolean =>
  _tag === "Deleted" || (object.data?.[field]?.length ?? 0) < (previous?.data?.[field]?.length ?? 0)

const Members = Schema.fromJsonString(
  Schema.Array(Schema.String.check(Schema.isMaxLength(64))).check(Schema.isMaxLength(1000))
)

/** Of one line: a member is added or removed at the cost of one field. */
const field = "members"

const format: AtomicConfigMap.Format<ReadonlyArray<string>> = {
  annotation: ownerAnnotation,
  field,
  decode: Schema.decodeUnknownOption(Members),
  encode: (members) => JSON.stringify(members),
  // Enough for every replica to lose a race against every other one; what changes faster than this is somebody else's fault.
  attemptsMax: 8
}

const read = (book: Book) => AtomicConfigMap.read(format, book)

const change = <A>(book: Book, decide: (members: ReadonlyArray<string>) => readonly [A, ReadonlyArray<string>]) =>
  AtomicConfigMap.change(format, book, book.members, (members) => Effect.sync(() => decide(members)))
