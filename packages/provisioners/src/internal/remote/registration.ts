/**
 * What is remembered of a cluster on which something of an object is, or may be: a Secret on the operator's own cluster with the
 * cluster's identity, the kubeconfig that worked last, and one finalizer for each reference.
 *
 * It is changed as a whole, by compare-and-swap. A reference is there before anything is made on the cluster, and goes after
 * everything there is gone. The last one to go deletes the Secret first and takes its finalizer off then, so that a crash in
 * between leaves no registration without references, and no reference without a registration. To one that is being deleted
 * nothing can be added: then a further one is made beside it.
 */
import * as Builtin from "@berth/kube/Builtin"
import type * as Client from "@berth/kube/Client"
import * as KubeError from "@berth/kube/KubeError"
import { Effect, Option, type Semaphore } from "effect"
import * as References from "./reference.ts"
import * as Secrets from "./registrationSecret.ts"

/** Where registrations are: a namespace of the operator's own cluster. */
export interface Book {
  readonly client: Client.Client["Service"]
  readonly namespace: string
  /** One writer at a time, for those who got in each other's way. */
  readonly turn: Semaphore.Semaphore
}

/** Each failed attempt means that another process got through. */
const attemptsMax = 10
/** Registrations of one cluster of which all but one are being deleted. */
const besidesMax = 10

/** Every registration that this owner has a reference to, as the API server has it. */
export const ofOwner = ({ client, namespace }: Book, owner: References.Owner) =>
  Effect.map(
    client.list(Builtin.Secret, { namespace, labelSelector: References.ownerLabelOf(owner) }),
    ({ items }): ReadonlyArray<Secrets.Entry> => items.map(Secrets.entryOf)
  )

const read = ({ client, namespace }: Book, name: string) =>
  KubeError.orNone(client.get(Builtin.Secret, { namespace, name }))

/** Somebody else was faster: what there is now has to be read again. What cannot be created has no namespace to be in. */
const isLost = ({ _tag, verb }: KubeError.KubeError): boolean =>
  _tag === "Conflict" || _tag === "AlreadyExists" || (_tag === "NotFound" && verb !== "create")

/** Most passes change nothing, and need not wait for each other. Those who write at once, as siblings do, take turns after that. */
const again = <A, R>(
  { turn }: Book,
  attempt: Effect.Effect<A, KubeError.KubeError, R>
): Effect.Effect<A, KubeError.KubeError, R> =>
  Effect.catchIf(attempt, isLost, () => turn.withPermit(Effect.retry(attempt, { times: attemptsMax, while: isLost })))

/** The first name that is free, or whose registration is not being deleted. */
const place = Effect.fnUntraced(function* (book: Book, wanted: Secrets.Wanted) {
  for (let besides = 0; besides < besidesMax - 1; besides++) {
    const name = Secrets.nameOf(wanted, besides)
    const found = Option.getOrUndefined(yield* read(book, name))
    if (found === undefined || !Secrets.isLeaving(found)) return { name, found }
  }
  return { name: Secrets.nameOf(wanted, besidesMax - 1), found: undefined }
})

/** Which registration holds a reference now; or which one holds it already, for another cluster. */
export type Held = { readonly _tag: "Here" | "Elsewhere"; readonly entry: Secrets.Entry }

const attemptToHold = Effect.fnUntraced(function* (
  book: Book,
  reference: References.Reference,
  wanted: Secrets.Wanted
): Effect.fn.Return<Held, KubeError.KubeError> {
  const finalizer = References.finalizerOf(reference)
  const source = Secrets.sourceHashOf(wanted.source, wanted.via)
  const owned = yield* ofOwner(book, reference.owner)
  const mine = owned.filter((entry) => Secrets.references(entry).includes(finalizer))
  // What its siblings have by the same kubeconfig counts, too: one that is new or has moved must not go elsewhere alone.
  const concerned = owned.filter((entry) => mine.includes(entry) || entry.sourceHash === source)
  const elsewhere = concerned.find(({ identity }) => identity !== wanted.identity)
  if (elsewhere !== undefined) return { _tag: "Elsewhere", entry: elsewhere }
  const here = mine.find(({ sourceHash }) => sourceHash === source)
  const { found, name } = here === undefined ? yield* place(book, wanted) : { name: here.name, found: here.object }
  const before = found ?? Secrets.blank(book.namespace, wanted, name)
  const [first] = mine
  const destination = first === undefined ? name : Secrets.destinationOf(first, finalizer)
  const after = Secrets.joined(before, reference, wanted, destination)
  const write = found === undefined ? book.client.create : book.client.update
  const now = found !== undefined && Secrets.isSame(found, after) ? found : yield* write(Builtin.Secret, after)
  // The same cluster by another Secret: the new registration holds it before the old one lets go.
  const others = mine.filter((entry) => entry.name !== name)
  yield* Effect.forEach(others, (entry) => release(book, entry, finalizer, reference.owner), { discard: true })
  return { _tag: "Here", entry: Secrets.entryOf(now) }
})

/** Sees to it that the reference is held by the registration of this cluster. Writes nothing where that is so already. */
export const hold = (book: Book, reference: References.Reference, wanted: Secrets.Wanted) =>
  again(book, attemptToHold(book, reference, wanted))

/** Takes the reference away. The last one takes the registration with it. Foreign finalizers stay, and may keep it. */
export const release = (book: Book, { name }: Secrets.Entry, finalizer: string, owner: References.Owner) =>
  again(
    book,
    Effect.gen(function* () {
      const found = Option.getOrUndefined(yield* read(book, name))
      if (found === undefined || !(found.metadata.finalizers ?? []).includes(finalizer)) return
      const { resourceVersion, uid } = found.metadata
      const isLast = References.referencesIn(found.metadata.finalizers).length === 1
      if (!isLast || Secrets.isLeaving(found)) {
        yield* book.client.update(Builtin.Secret, Secrets.left(found, finalizer, owner))
        return
      }
      const ref = { namespace: book.namespace, name }
      yield* book.client.delete(Builtin.Secret, ref, { preconditions: { uid, resourceVersion } })
      const leaving = Option.getOrUndefined(yield* read(book, name))
      if (leaving?.metadata.uid !== uid || leaving === undefined) return
      yield* book.client.update(Builtin.Secret, Secrets.left(leaving, finalizer, owner))
    })
  )
