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
import type * as KubeError from "@berth/kube/KubeError"
import { Effect, Option, Redacted } from "effect"
import type { Source, Text } from "./kubeconfig.ts"
import * as References from "./reference.ts"

/** Where registrations are: a namespace of the operator's own cluster. */
export interface Book {
  readonly client: Client.Client["Service"]
  readonly namespace: string
}

export interface Entry {
  readonly name: string
  /** Of the cluster. */
  readonly identity: string
  readonly server: string
  /** The Secret that the kubeconfig came from, as `namespace/name`. */
  readonly secret: string
  readonly sourceHash: string
  /** The registration of the cluster that this one is reached from; undefined where that is the operator's own. */
  readonly via: string | undefined
  readonly text: Text | undefined
  readonly object: Builtin.Secret
}

/** What is to be remembered. */
export interface Wanted {
  readonly identity: string
  readonly server: string
  readonly source: Source
  readonly via: string | undefined
  readonly text: Text
}

const clusterLabel = "berth.dev/cluster"
const sourceLabel = "berth.dev/kubeconfig"
const secretAnnotation = "berth.dev/kubeconfig-secret"
const serverAnnotation = "berth.dev/server"
const viaAnnotation = "berth.dev/via"
const textKey = "kubeconfig"

/** Each failed attempt means that another writer got through. */
const attemptsMax = 10
/** Registrations of one cluster of which all but one are being deleted. */
const besidesMax = 10

export const sourceHashOf = ({ context, key, name, namespace }: Source, via: string | undefined): string =>
  References.hash(via ?? "", namespace, name, key, context ?? "")

const nameOf = ({ identity, source, via }: Wanted, besides: number): string =>
  `berth-cluster-${References.hash(identity, sourceHashOf(source, via))}${besides === 0 ? "" : `-${besides}`}`

const entryOf = (object: Builtin.Secret): Entry => {
  const { annotations, labels, name } = object.metadata
  const text = object.data?.[textKey]
  return {
    name,
    identity: labels?.[clusterLabel] ?? "",
    sourceHash: labels?.[sourceLabel] ?? "",
    server: annotations?.[serverAnnotation] ?? "",
    secret: annotations?.[secretAnnotation] ?? "",
    via: annotations?.[viaAnnotation],
    text: text === undefined ? undefined : Redacted.make(Buffer.from(text, "base64").toString("utf8")),
    object
  }
}

const isLeaving = ({ metadata }: Builtin.Secret): boolean => metadata.deletionTimestamp !== undefined

export const references = ({ object }: Entry): ReadonlyArray<string> =>
  References.referencesIn(object.metadata.finalizers)

/** Every registration that this owner has a reference to, as the API server has it. */
export const ofOwner = ({ client, namespace }: Book, owner: References.Owner) =>
  Effect.map(
    client.list(Builtin.Secret, { namespace, labelSelector: References.ownerLabelOf(owner) }),
    ({ items }): ReadonlyArray<Entry> => items.map(entryOf)
  )

const read = ({ client, namespace }: Book, name: string) =>
  Effect.catchTag(Effect.asSome(client.get(Builtin.Secret, { namespace, name })), "NotFound", () => Effect.succeedNone)

const joined = (
  object: Builtin.Secret,
  reference: References.Reference,
  { server, text }: Wanted,
  destination: string
): Builtin.Secret => {
  const finalizer = References.finalizerOf(reference)
  const { metadata } = object
  const description = References.encode(References.describe(reference, destination))
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [References.ownerLabelOf(reference.owner)]: "" },
      annotations: { ...metadata.annotations, [serverAnnotation]: server },
      finalizers: [...new Set([...(metadata.finalizers ?? []), finalizer])]
    },
    data: {
      ...object.data,
      [References.keyOf(finalizer)]: description,
      [textKey]: Buffer.from(Redacted.value(text), "utf8").toString("base64")
    }
  }
}

const left = (object: Builtin.Secret, finalizer: string, owner: References.Owner): Builtin.Secret => {
  const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== finalizer)
  const { [References.keyOf(finalizer)]: _, ...data } = object.data ?? {}
  const { [References.ownerLabelOf(owner)]: mark, ...labels } = object.metadata.labels ?? {}
  const stays = finalizers.some((each) => References.belongsTo(each, owner))
  return {
    ...object,
    metadata: {
      ...object.metadata,
      finalizers,
      labels: stays && mark !== undefined ? { ...labels, [References.ownerLabelOf(owner)]: mark } : labels
    },
    data
  }
}

const blank = ({ namespace }: Book, wanted: Wanted, name: string): Builtin.Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "berth.dev/cluster",
  metadata: {
    namespace,
    name,
    labels: { [clusterLabel]: wanted.identity, [sourceLabel]: sourceHashOf(wanted.source, wanted.via) },
    annotations: {
      [secretAnnotation]: `${wanted.source.namespace}/${wanted.source.name}`,
      ...(wanted.via === undefined ? {} : { [viaAnnotation]: wanted.via })
    }
  }
})

const isSame = (one: Builtin.Secret, other: Builtin.Secret): boolean =>
  JSON.stringify([one.metadata, one.data]) === JSON.stringify([other.metadata, other.data])

/** Somebody else was faster: what there is now has to be read again. What cannot be created has no namespace to be in. */
const isLost = ({ _tag, verb }: KubeError.KubeError): boolean =>
  _tag === "Conflict" || _tag === "AlreadyExists" || (_tag === "NotFound" && verb === "update")

const again = <A, R>(attempt: Effect.Effect<A, KubeError.KubeError, R>): Effect.Effect<A, KubeError.KubeError, R> =>
  Effect.retry(attempt, { times: attemptsMax, while: isLost })

/** The first name that is free, or whose registration is not being deleted. */
const place = Effect.fnUntraced(function* (book: Book, wanted: Wanted) {
  for (let besides = 0; besides < besidesMax - 1; besides++) {
    const name = nameOf(wanted, besides)
    const found = Option.getOrUndefined(yield* read(book, name))
    if (found === undefined || !isLeaving(found)) return { name, found }
  }
  return { name: nameOf(wanted, besidesMax - 1), found: undefined }
})

/** What CD drivers know the cluster by: the first registration that held the reference. */
export const destinationOf = ({ name, object }: Entry, finalizer: string): string =>
  References.decodeDescription(object.data?.[References.keyOf(finalizer)])?.destination ?? name

/** Which registration holds a reference now; or which one holds it already, for another cluster. */
export type Held = { readonly _tag: "Here" | "Elsewhere"; readonly entry: Entry }

const attemptToHold = Effect.fnUntraced(function* (
  book: Book,
  reference: References.Reference,
  wanted: Wanted
): Effect.fn.Return<Held, KubeError.KubeError> {
  const finalizer = References.finalizerOf(reference)
  const mine = (yield* ofOwner(book, reference.owner)).filter((entry) => references(entry).includes(finalizer))
  const elsewhere = mine.find(({ identity }) => identity !== wanted.identity)
  if (elsewhere !== undefined) return { _tag: "Elsewhere", entry: elsewhere }
  const source = sourceHashOf(wanted.source, wanted.via)
  const here = mine.find(({ sourceHash }) => sourceHash === source)
  const { found, name } = here === undefined ? yield* place(book, wanted) : { name: here.name, found: here.object }
  const before = found ?? blank(book, wanted, name)
  const [first] = mine
  const destination = first === undefined ? name : destinationOf(first, finalizer)
  const after = joined(before, reference, wanted, destination)
  const write = found === undefined ? book.client.create : book.client.update
  const now = found !== undefined && isSame(found, after) ? found : yield* write(Builtin.Secret, after)
  // The same cluster by another Secret: the new registration holds it before the old one lets go.
  const others = mine.filter((entry) => entry.name !== name)
  yield* Effect.forEach(others, (entry) => release(book, entry, finalizer, reference.owner), { discard: true })
  return { _tag: "Here", entry: entryOf(now) }
})

/** Sees to it that the reference is held by the registration of this cluster. Writes nothing where that is so already. */
export const hold = (book: Book, reference: References.Reference, wanted: Wanted) =>
  again(attemptToHold(book, reference, wanted))

/** Takes the reference away. The last one takes the registration with it. Foreign finalizers stay, and may keep it. */
export const release = (book: Book, { name }: Entry, finalizer: string, owner: References.Owner) =>
  again(
    Effect.gen(function* () {
      const found = Option.getOrUndefined(yield* read(book, name))
      if (found === undefined || !(found.metadata.finalizers ?? []).includes(finalizer)) return
      const { resourceVersion, uid } = found.metadata
      const isLast = References.referencesIn(found.metadata.finalizers).length === 1
      if (!isLast || isLeaving(found)) {
        yield* book.client.update(Builtin.Secret, left(found, finalizer, owner))
        return
      }
      const ref = { namespace: book.namespace, name }
      yield* book.client.delete(Builtin.Secret, ref, { preconditions: { uid, resourceVersion } })
      const leaving = Option.getOrUndefined(yield* read(book, name))
      if (leaving?.metadata.uid !== uid || leaving === undefined) return
      yield* book.client.update(Builtin.Secret, left(leaving, finalizer, owner))
    })
  )
