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
export interface Book {
  /** Of the ConfigMap. */
  readonly name: string
  readonly namespace: string
  /** Of the shared component. */
  readonly uid: string
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
    if (members.includes(member)) return { members, result: true }
    return members.length < placesMax ? { members: [...members, member], result: true } : { members, result: false }
  })

/**
 * Takes the place of `member` back, if it has one. A ledger that is not there is not made: what makes it reads the records.
 *
 * @category operations
 * @since 0.1.0
 */
export const release = (book: Book, member: string): Effect.Effect<void, KubeError.KubeError, Client> =>
  Effect.flatMap(holds(book, member), (isMember) =>
    isMember
      ? Effect.asVoid(change(book, (members) => ({ members: members.filter((each) => each !== member), result: true })))
      : Effect.void
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
  Effect.map(read(book), (found) => Option.exists(found.members, (members) => members.includes(member)))

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
    const { members } = yield* read(book)
    if (Option.isNone(members)) return []
    const gone = yield* Effect.filter(members.value, (member) => Effect.map(keep(member), (kept) => !kept))
    if (gone.length === 0) return []
    return yield* change(book, (now) => ({ members: now.filter((each) => !gone.includes(each)), result: gone }))
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
const decodeMembers = Schema.decodeUnknownOption(Members)
const encodeMembers = (members: ReadonlyArray<string>): string => JSON.stringify(members)

/** Of one line: a member is added or removed at the cost of one field. */
const field = "members"

interface Found {
  readonly object: Option.Option<Builtin.ConfigMap>
  /** None where there is no ledger that can be used. */
  readonly members: Option.Option<ReadonlyArray<string>>
}

const read = Effect.fnUntraced(function* (book: Book): Effect.fn.Return<Found, KubeError.KubeError, Client> {
  const client = yield* Client
  const object = yield* client.get(Builtin.ConfigMap, { name: book.name, namespace: book.namespace }).pipe(
    Effect.asSome,
    Effect.catchTag("NotFound", () => Effect.succeedNone)
  )
  const members = Option.flatMap(object, ({ data, metadata }) =>
    metadata.annotations?.[ownerAnnotation] === book.uid ? decodeMembers(data?.[field]) : Option.none()
  )
  return { object, members }
})

/** Enough for every replica to lose a race against every other one; a ledger that changes faster than this is somebody else's fault. */
const attemptsMax = 8

const change = Effect.fnUntraced(function* <A>(
  book: Book,
  decide: (members: ReadonlyArray<string>) => { readonly members: ReadonlyArray<string>; readonly result: A }
): Effect.fn.Return<A, KubeError.KubeError, Client> {
  for (let attempt = 1; ; attempt++) {
    const found = yield* read(book)
    const before = Option.isSome(found.members) ? found.members.value : yield* book.members
    const { members, result } = decide(before)
    if (Option.isSome(found.members) && sameMembers(members, found.members.value)) return result
    const written = yield* Effect.result(write(book, found.object, members))
    if (written._tag === "Success") return result
    const lost =
      written.failure._tag === "Conflict" ||
      written.failure._tag === "AlreadyExists" ||
      written.failure._tag === "NotFound"
    if (!lost || attempt >= attemptsMax) return yield* Effect.fail(written.failure)
  }
})

const sameMembers = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((member, index) => member === b[index])

const write = Effect.fnUntraced(function* (
  book: Book,
  object: Option.Option<Builtin.ConfigMap>,
  members: ReadonlyArray<string>
) {
  const client = yield* Client
  const data = { [field]: encodeMembers(members) }
  if (Option.isNone(object)) {
    const metadata = { name: book.name, namespace: book.namespace, annotations: { [ownerAnnotation]: book.uid } }
    return yield* client.create(Builtin.ConfigMap, { metadata, data })
  }
  const { metadata } = object.value
  const annotations = { ...metadata.annotations, [ownerAnnotation]: book.uid }
  return yield* client.update(Builtin.ConfigMap, { ...object.value, metadata: { ...metadata, annotations }, data })
})
