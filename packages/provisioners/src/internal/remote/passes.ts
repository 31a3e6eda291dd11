/** Both directions of a provisioner that is on another cluster. */
import * as Client from "@berth/kube/Client"
import { Context, Effect, Equal, Option, Result, Scope } from "effect"
import * as CdDriver from "../../CdDriver.ts"
import type * as Disposition from "../../Disposition.ts"
import * as Identifier from "../../Identifier.ts"
import * as KubeFailure from "../../KubeFailure.ts"
import { currentPath, type Runnable } from "../pass.ts"
import * as Abandonment from "./abandonment.ts"
import type { Clusters, Opened } from "./clusters.ts"
import * as Kubeconfig from "./kubeconfig.ts"
import { Reasons } from "./reasons.ts"
import * as References from "./reference.ts"
import * as Registrations from "./registration.ts"
import * as Secrets from "./registrationSecret.ts"

type Pass<R> = Effect.Effect<void, Disposition.ProvisionError, R>

/** What is to be on which cluster, and for whom. */
export interface Plan<R> {
  readonly owner: References.Owner
  readonly source: Kubeconfig.Source
  readonly child: Runnable<R>
}

/** The clusters of a program, as one place in a tree sees them. */
interface Site {
  readonly clusters: Clusters
  readonly owner: References.Owner
  readonly source: Kubeconfig.Source
  readonly reference: References.Reference
  readonly finalizer: string
  /** The registration of the cluster that the client in the context talks to, if that is a remote one. */
  readonly via: string | undefined
}

const whileGone = "1 minute"

/** The cluster that the client in the context talks to: its registration, and how many clusters are on the way to it. */
interface Surroundings {
  readonly registration: string | undefined
  readonly depth: number
}
const Surroundings = Context.Reference<Surroundings>("@berth/provisioners/RemoteCluster/Surroundings", {
  defaultValue: () => ({ registration: undefined, depth: 0 })
})

/** Where the outermost child would have run by itself; undefined while none runs. */
interface Home {
  readonly client: Client.Client["Service"]
  readonly destination: CdDriver.RemoteDestination | undefined
  readonly surroundings: Surroundings
}
const Home = Context.Reference<Home | undefined>("@berth/provisioners/RemoteCluster/Home", {
  defaultValue: () => undefined
})

const homeOf: Effect.Effect<Home, never, Client.Client> = Effect.gen(function* () {
  const client = yield* Client.Client
  return (yield* Home) ?? { client, destination: yield* CdDriver.Destination, surroundings: yield* Surroundings }
})

/** Runs a part of a child where the child would have run by itself. */
export const home = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Client.Client> | Client.Client> =>
  Effect.flatMap(homeOf, ({ client, destination, surroundings }) =>
    self.pipe(
      Effect.provideService(Client.Client, client),
      Effect.provideService(CdDriver.Destination, destination),
      Effect.provideService(Surroundings, surroundings),
      Effect.provideService(Home, undefined)
    )
  )

const siteOf = Effect.fnUntraced(function* <R>(clusters: Clusters, { child, owner, source }: Plan<R>) {
  const { depth, registration } = yield* Surroundings
  const path = (yield* currentPath) ?? child.name
  const reference: References.Reference = { owner, path, depth }
  const finalizer = References.finalizerOf(reference)
  return { clusters, owner, source, reference, finalizer, via: registration } satisfies Site
})

const unknown = Identifier.of("unknown")

/** Whatever somebody made of a label. */
const identityOf = ({ identity }: Secrets.Entry): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(identity), () => unknown)

const runOn = <R>(
  { finalizer }: Site,
  pass: Pass<R>,
  { client, connection }: Opened,
  entry: Secrets.Entry
): Pass<Exclude<R, Client.Client> | Client.Client> => {
  // A registration's name, and not what the cluster says of itself: nobody else's kubeconfig leads to that name.
  const identity = Identifier.Identifier.make(Secrets.destinationOf(entry, finalizer))
  return Effect.gen(function* () {
    const { depth } = yield* Surroundings
    const outside = yield* homeOf
    return yield* pass.pipe(
      Effect.provideService(Client.Client, client),
      Effect.provideService(CdDriver.Destination, { identity, connection }),
      Effect.provideService(Surroundings, { registration: entry.name, depth: depth + 1 }),
      Effect.provideService(Home, outside)
    )
  })
}

/** A scope for the client alone: the child's own scope, if it needs one, is that of whoever runs it. */
const withScope = <R>(use: (scope: Scope.Scope) => Pass<R>): Pass<R> =>
  Effect.acquireUseRelease(Scope.make(), use, Scope.close)

const otherCluster = ({ source }: Site, entry: Secrets.Entry, found: Identifier.Identifier) =>
  Reasons.other_cluster({ secret: Kubeconfig.secretOf(source), found, cluster: identityOf(entry) })

/** Remembers that something of this site is on the cluster, or will be. */
const register = Effect.fnUntraced(function* (
  site: Site,
  { connection, identity }: Opened,
  text: Kubeconfig.Text
): Effect.fn.Return<Secrets.Entry, Disposition.ProvisionError> {
  const { clusters, owner, reference, source, via } = site
  const wanted: Secrets.Wanted = { identity, server: connection.server, source, via, text }
  const hold = KubeFailure.classified(Registrations.hold(clusters.book, reference, wanted))
  const first = yield* hold
  if (first._tag === "Here") return first.entry
  const failure = otherCluster(site, first.entry, identity)
  if (!Abandonment.isAsked(owner, first.entry.identity)) return yield* failure
  yield* KubeFailure.classified(Abandonment.abandon(clusters, owner, first.entry.identity, failure.reason))
  const second = yield* hold
  return second._tag === "Here" ? second.entry : yield* otherCluster(site, second.entry, identity)
})

/** First the reference, then the child. */
export const provision = Effect.fnUntraced(function* <R>(clusters: Clusters, plan: Plan<R>) {
  const site = yield* siteOf(clusters, plan)
  const text = yield* Kubeconfig.read(site.source)
  yield* withScope((scope) =>
    Effect.gen(function* () {
      const opened = yield* Scope.provide(clusters.open(text, site.source), scope)
      const entry = yield* register(site, opened, text)
      yield* runOn(site, plan.child.provision, opened, entry)
    })
  )
})

/** The cluster of a registration: by the kubeconfig as it is now, or else by the one that worked last. */
const reopen = Effect.fnUntraced(function* (site: Site, entry: Secrets.Entry) {
  const { clusters, source } = site
  const openAs = Effect.fnUntraced(function* (text: Kubeconfig.Text) {
    const opened = yield* clusters.open(text, source)
    return opened.identity === entry.identity ? opened : yield* otherCluster(site, entry, opened.identity)
  })
  const current = yield* Effect.result(Kubeconfig.read(source))
  const missing = Result.isFailure(current)
  const first = missing ? Result.fail(current.failure) : yield* Effect.result(openAs(current.success))
  if (Result.isSuccess(first)) return first.success
  const copy = entry.text
  if (copy === undefined || (!missing && Equal.equals(current.success, copy))) return yield* first.failure
  // Of two that fail, the user's own is the one to mend, unless there is none.
  return yield* Effect.mapError(openAs(copy), (failure) => (missing ? failure : first.failure))
})

/** What is on a cluster that cannot be used is given up, or waited for. */
const giveUp = Effect.fnUntraced(function* (
  { clusters, owner }: Site,
  entry: Secrets.Entry,
  failure: Disposition.ProvisionError
): Effect.fn.Return<void, Disposition.ProvisionError> {
  if (Abandonment.isAsked(owner, entry.identity)) {
    return yield* KubeFailure.classified(Abandonment.abandon(clusters, owner, entry.identity, failure.reason))
  }
  return yield* Reasons.cluster_unreachable(
    { cluster: identityOf(entry), problem: Identifier.Identifier.make(failure.reason) },
    { after: whileGone, why: failure.why ?? failure.message, cause: failure }
  )
})

/** First the child, then the reference. */
const leave = <R>(site: Site, entry: Secrets.Entry, pass: Pass<R>) =>
  withScope((scope) =>
    Effect.gen(function* () {
      const opened = yield* Effect.result(Scope.provide(reopen(site, entry), scope))
      if (Result.isFailure(opened)) return yield* giveUp(site, entry, opened.failure)
      yield* runOn(site, pass, opened.success, entry)
      yield* KubeFailure.classified(Registrations.release(site.clusters.book, entry, site.finalizer, site.owner))
    })
  )

/** Where this site has something. One that moved in the tree finds what the object has by the same kubeconfig. */
const entriesOf = Effect.fnUntraced(function* ({ clusters, finalizer, owner, source, via }: Site) {
  const owned = yield* KubeFailure.classified(Registrations.ofOwner(clusters.book, owner))
  const mine = owned.filter((entry) => Secrets.references(entry).includes(finalizer))
  const hash = Secrets.sourceHashOf(source, via)
  return mine.length > 0 ? mine : owned.filter(({ sourceHash }) => sourceHash === hash)
})

/** Without a registration nothing was ever made, and nothing is asked of anybody. */
export const deprovision = Effect.fnUntraced(function* <R>(clusters: Clusters, plan: Plan<R>) {
  const site = yield* siteOf(clusters, plan)
  for (const entry of yield* entriesOf(site)) yield* leave(site, entry, plan.child.deprovision)
})
