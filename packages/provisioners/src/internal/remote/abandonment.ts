/** Giving up what is on a cluster that nobody can reach any more: never without a record and an Event. */
import * as Builtin from "@berth/kube/Builtin"
import { Clock, Effect } from "effect"
import { ownerLabel } from "../../ObjectProvisioner.ts"
import type { Clusters } from "./clusters.ts"
import * as References from "./reference.ts"
import * as Registrations from "./registration.ts"
import * as Secrets from "./registrationSecret.ts"

/** On the object that is reconciled: the identity of the cluster that is given up. */
export const annotation = "berth.dev/abandon-cluster"

export const isAsked = ({ metadata }: References.Owner, identity: string): boolean =>
  metadata.annotations?.[annotation] === identity

/** The cluster's registrations, and those of clusters that were reached only through it. */
const reachedThrough = (owned: ReadonlyArray<Secrets.Entry>, identity: string) => {
  const found = new Set<Secrets.Entry>()
  const add = (entry: Secrets.Entry): void => {
    if (found.has(entry)) return
    found.add(entry)
    owned.filter(({ via }) => via === entry.name).forEach(add)
  }
  owned.filter((entry) => entry.identity === identity).forEach(add)
  return [...found]
}

interface Abandoned {
  readonly entry: Secrets.Entry
  readonly finalizer: string
}

/** Its name follows from what is given up, so that a pass that was interrupted makes no second one. */
const recordOf = ({ entry, finalizer }: Abandoned, owner: References.Owner, problem: string, atMs: number) => {
  const { kind, metadata } = owner
  const { identity, name, object, secret, server } = entry
  const path = References.decodeDescription(object.data?.[References.keyOf(finalizer)])?.path ?? ""
  return {
    metadata: {
      name: `berth-abandoned-${References.hash(name, object.metadata.uid ?? "", finalizer)}`,
      labels: { "berth.dev/abandoned-cluster": identity }
    },
    data: {
      cluster: identity,
      server,
      kubeconfigSecret: secret,
      apiVersion: owner.apiVersion,
      kind,
      namespace: metadata.namespace ?? "",
      name: metadata.name,
      uid: metadata.uid,
      path,
      objects: `${ownerLabel}=${metadata.uid}`,
      problem,
      time: new Date(atMs).toISOString()
    }
  }
}

const regarding = ({ apiVersion, kind, metadata }: References.Owner) => {
  const { name, namespace, uid } = metadata
  return { apiVersion, kind, metadata: { name, uid, ...(namespace === undefined ? {} : { namespace }) } }
}

/** Gives up all that this owner has there. The references go last: a pass that is interrupted before begins anew. */
export const abandon = Effect.fnUntraced(function* (
  { book, recorder }: Clusters,
  owner: References.Owner,
  identity: string,
  problem: string
) {
  const nowMs = yield* Clock.currentTimeMillis
  const entries = reachedThrough(yield* Registrations.ofOwner(book, owner), identity)
  const all = entries.flatMap((entry) =>
    Secrets.references(entry)
      .filter((finalizer) => References.belongsTo(finalizer, owner))
      .map((finalizer): Abandoned => ({ entry, finalizer }))
  )
  for (const each of all) {
    const { data, metadata } = recordOf(each, owner, problem, nowMs)
    yield* Effect.catchTag(
      book.client.create(Builtin.ConfigMap, { metadata: { ...metadata, namespace: book.namespace }, data }),
      "AlreadyExists",
      () => Effect.void
    )
    const what = data.path === "" ? "what is" : data.path
    yield* recorder.record({
      regarding: regarding(owner),
      type: "Warning",
      reason: "ClusterAbandoned",
      action: "Abandon",
      note: `Gave up ${what} on cluster ${data.cluster} (${data.server}): ${problem}. Recorded in ConfigMap ${book.namespace}/${metadata.name}.`
    })
  }
  yield* Effect.forEach(all, ({ entry, finalizer }) => Registrations.release(book, entry, finalizer, owner), {
    discard: true
  })
})
