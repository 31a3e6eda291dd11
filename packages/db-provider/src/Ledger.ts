/**
 * How many databases have a place: on a shard, or of a consumer's quota. One ConfigMap each, changed by compare-and-swap only.
 *
 * It counts those that are settled, and names only those that come or go just now. So it stays as small with ten thousand databases as
 * with ten, and each of them is counted once, whoever dies in between.
 *
 * **Guarantees**
 * - D1: a place is given only by a write that the API server accepts on the version that was judged: two replicas cannot both give
 *   the last one. A ledger that is lost, or was edited into nonsense, or is of an earlier object of the same name, is made again
 *   from the records.
 * - D25: no operation costs more with more records, but the making again.
 *
 * **Caveats**
 * - While a lost ledger is made again, somebody who had a place in the old one and has not written it into a record yet is missing.
 *   {@link settle} notices, and counts again; until then there may be one too many.
 *
 * @since 0.1.0
 */
import * as AtomicConfigMap from "@berth/kube/AtomicConfigMap"
import type * as Builtin from "@berth/kube/Builtin"
import type { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Context, Effect, Option, Schema } from "effect"

/**
 * Which ledger: of one shard or consumer, as it is now.
 *
 * @category models
 * @since 0.1.0
 */
export interface Book extends AtomicConfigMap.Place {
  /** The members that have a place by their records, read from the API server: asked only where the count is not known. */
  readonly members: Effect.Effect<ReadonlyArray<string>, KubeError.KubeError, Client>
}

/**
 * The annotation that says of which object a ledger is.
 *
 * @category constants
 * @since 0.1.0
 */
export const ownerAnnotation = "db.berth.dev/ledger-of-uid"

/**
 * The label on each of them, by which a cache finds them. An index only.
 *
 * @category constants
 * @since 0.1.0
 */
export const label = "db.berth.dev/ledger"

/**
 * What a cache has of ledgers: a change is tried on that first, which saves a request.
 *
 * @category services
 * @since 0.1.0
 */
export const Known = Context.Reference<(name: string) => Effect.Effect<Option.Option<Builtin.ConfigMap>>>(
  "@berth/db-provider/Ledger/Known",
  { defaultValue: () => () => Effect.succeedNone }
)

const Members = Schema.Array(Schema.String.check(Schema.isMaxLength(64))).check(Schema.isMaxLength(1000))

const Content = Schema.Struct({
  /** How many have a place that is written in their records. */
  settled: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** Who has a place that is not written in its record yet. */
  entering: Members,
  /** Who gave its place up, and has a record still. */
  leaving: Members
})

/**
 * What a ledger says.
 *
 * @category models
 * @since 0.1.0
 */
export interface Content extends Schema.Schema.Type<typeof Content> {}

/**
 * What a ledger says of its places, and of one member.
 *
 * @category models
 * @since 0.1.0
 */
export interface Standing {
  readonly taken: number
  /** Whether the member has a place that its record does not say yet. */
  readonly isEntering: boolean
}

/**
 * Reads it, from what is {@link Known} or else from the API server: enough to choose by, since whoever takes a place is judged anew.
 *
 * @category getters
 * @since 0.1.0
 */
export const standing = (book: Book, member: string): Effect.Effect<Standing, KubeError.KubeError, Client> =>
  Effect.map(look(book), (content) => ({
    taken: takenOf(content),
    isEntering: content.entering.includes(member)
  }))

/**
 * Reads what it says, from what is {@link Known} or else from the API server; none where there is no ledger that can be used.
 *
 * @category getters
 * @since 0.1.0
 */
export const peek = Effect.fnUntraced(function* (
  book: Book
): Effect.fn.Return<Option.Option<Content>, KubeError.KubeError, Client> {
  const known = Option.flatMap(yield* knownOf(book), AtomicConfigMap.valueOf(format, book.uid))
  return Option.isSome(known) ? known : (yield* AtomicConfigMap.read(format, book)).value
})

const takenOf = ({ entering, settled }: Content): number => settled + entering.length

/**
 * Gives `member` a place, unless all `placesMax` are taken. Who has one that is not settled keeps it.
 *
 * **Details**: to be asked for a member only until its place is written in its record, and then {@link settle}d.
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
  change(book, (content) => {
    if (content.entering.includes(member)) return Effect.succeed([true, content])
    if (takenOf(content) >= placesMax || content.entering.length >= inMotionMax) return Effect.succeed([false, content])
    return Effect.succeed([true, { ...content, entering: [...content.entering, member] }])
  })

/**
 * Gives back a place that was not written into a record.
 *
 * @category operations
 * @since 0.1.0
 */
export const cancel = (book: Book, member: string): Effect.Effect<void, KubeError.KubeError, Client> =>
  change(book, (content) => Effect.succeed([undefined, { ...content, entering: without(content.entering, member) }]))

/**
 * Notes that the record of `member` says now that it has its place. A member that is not known to come is settled already, or was lost
 * with an earlier ledger: then the records are counted.
 *
 * @category operations
 * @since 0.1.0
 */
export const settle = (book: Book, member: string): Effect.Effect<void, KubeError.KubeError, Client> =>
  change(book, (content) =>
    content.entering.includes(member)
      ? Effect.succeed([
          undefined,
          { ...content, settled: content.settled + 1, entering: without(content.entering, member) }
        ])
      : Effect.map(recounted(book, content), (next) => [undefined, next])
  )

/**
 * Takes the place of `member` back, once, however often it is asked, for as long as its record is there.
 *
 * **Details**: `exists` reads the record from the API server. It is asked between the reading and the writing of the ledger: if the
 * record was there after the ledger was read, then nobody had forgotten the member before.
 *
 * @category operations
 * @since 0.1.0
 */
export const release = (
  book: Book,
  member: string,
  exists: Effect.Effect<boolean, KubeError.KubeError, Client>
): Effect.Effect<void, KubeError.KubeError, Client> =>
  change(book, (content) =>
    Effect.gen(function* () {
      if (content.leaving.includes(member) || !(yield* exists)) return [undefined, content]
      const leaving = [...content.leaving, member]
      if (content.entering.includes(member)) {
        return [undefined, { ...content, leaving, entering: without(content.entering, member) }]
      }
      const next = { ...content, leaving, settled: Math.max(0, content.settled - 1) }
      return [undefined, leaving.length > inMotionMax ? yield* recounted(book, { ...next, leaving: [member] }) : next]
    })
  )

/**
 * Forgets who left, once its record is gone.
 *
 * @category operations
 * @since 0.1.0
 */
export const forget = (book: Book, member: string): Effect.Effect<void, KubeError.KubeError, Client> =>
  change(book, (content) => Effect.succeed([undefined, { ...content, leaving: without(content.leaving, member) }]))

/**
 * Counts the records, and mends the ledger where it is wrong; returns by how much it was.
 *
 * **Details**: who comes or goes at that moment may be counted wrongly by it, on the safe side, until the next audit.
 *
 * @category operations
 * @since 0.1.0
 */
export const audit = (book: Book): Effect.Effect<number, KubeError.KubeError, Client> =>
  change(book, (content) => Effect.map(recounted(book, content), (next) => [next.settled - content.settled, next]))

/** More than come or go at once in an orderly world: beyond it something is wrong, and the records are asked. */
const inMotionMax = 100

const without = (members: ReadonlyArray<string>, member: string): ReadonlyArray<string> =>
  members.includes(member) ? members.filter((each) => each !== member) : members

const recounted = (book: Book, { entering, leaving }: Content): Effect.Effect<Content, KubeError.KubeError, Client> =>
  Effect.map(book.members, (members) => {
    const recorded = new Set(members)
    return {
      settled: members.filter((member) => !leaving.includes(member)).length,
      entering: entering.filter((member) => !recorded.has(member)),
      leaving: leaving.filter((member) => recorded.has(member))
    }
  })

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Content))

const format: AtomicConfigMap.Format<Content> = {
  annotation: ownerAnnotation,
  field: "ledger",
  decode,
  encode: ({ entering, leaving, settled }) => JSON.stringify({ settled, entering, leaving }),
  // Enough for every replica to lose a race against every other one; what changes faster than this is somebody else's fault.
  attemptsMax: 12,
  labels: { [label]: "true" }
}

const empty: Content = { settled: 0, entering: [], leaving: [] }

const knownOf = (book: Book) => Effect.flatMap(Known, (known) => known(book.name))

const look = (book: Book): Effect.Effect<Content, KubeError.KubeError, Client> =>
  Effect.flatMap(
    peek(book),
    Option.match({ onNone: () => recounted(book, empty), onSome: (content) => Effect.succeed(content) })
  )

type Decision<A> = readonly [A, Content]

const change = <A>(
  book: Book,
  decide: (content: Content) => Effect.Effect<Decision<A>, KubeError.KubeError, Client>
): Effect.Effect<A, KubeError.KubeError, Client> =>
  AtomicConfigMap.change(format, book, recounted(book, empty), decide, knownOf(book))

/**
 * Removes it, with the object that it is about.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = (book: Book): Effect.Effect<void, KubeError.KubeError, Client> =>
  AtomicConfigMap.remove(format, book)
