/**
 * Deploys charts by Flux (2.6 or newer): a HelmRelease for each application, with its source.
 *
 * **Guarantees**
 * - P31: what the HelmRelease refers to is named after its content, so that every change is one of its generation. It is judged by a
 *   `Ready` condition of that very generation, by the revision that Flux deployed then, and by each object of that, by kstatus.
 * - P33: a HelmRelease that is being deleted is waited for. Flux keeps the history, which says which objects to wait for; it goes when
 *   they have.
 * - P35: a release that somebody suspended is told from one that is at work. It is resumed to be removed, since Flux would leave its
 *   objects behind.
 * - S32: with an account, Flux impersonates a ServiceAccount beside the HelmRelease, which has the account's role in the release's
 *   namespace and no right anywhere else. Who can write in that namespace cannot write the HelmRelease.
 * - P37: what is secret among the values is in a Secret, which the HelmRelease refers to by `valuesFrom`.
 *
 * **Caveats**
 * - Whatever the application has in Flux is in one namespace of the driver's own cluster. A cluster elsewhere needs credentials that
 *   another program can use: tokens and certificates, no commands and no files.
 * - A chart's `revision` in Git is a commit, a tag, or a full reference such as `refs/heads/main`.
 * - Flux corrects drift, except for what `ignoredDifferences` names.
 * - Sources that need credentials are not made.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type { OwnerReference } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Duration, Effect, Layer } from "effect"
import * as CdDriver from "./CdDriver.ts"
import type * as Disposition from "./Disposition.ts"
import * as Identifier from "./Identifier.ts"
import * as Account from "./internal/cd/account.ts"
import * as Drafts from "./internal/cd/flux/drafts.ts"
import * as Kinds from "./internal/cd/flux/kinds.ts"
import * as Kubeconfig from "./internal/cd/helm/kubeconfig.ts"
import * as Releases from "./internal/cd/helm/releases.ts"
import * as Home from "./internal/cd/home.ts"
import * as Objects from "./internal/cd/objects.ts"
import * as KubeFailure from "./KubeFailure.ts"
import { ownerLabel } from "./ObjectProvisioner.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Where HelmReleases, their sources and Secrets are. It exists. */
  readonly namespace: string
  /** How often Flux looks at sources and for drift. Default 10 minutes. */
  readonly interval?: Duration.Input | undefined
  /** How long Flux may take for one action, the chart's hooks included. Default 5 minutes. */
  readonly timeout?: Duration.Input | undefined
}

/**
 * Flux's kind, for the `inputs` of a manager: then an object that waits for a HelmRelease to be resumed, or to be given up by another
 * owner, is served when that happens.
 *
 * @category kinds
 * @since 0.1.0
 */
export const HelmRelease: ResourceType.ResourceType = Kinds.HelmRelease

interface Settings extends Drafts.Settings {
  readonly home: Home.Home
}

const driver = Identifier.of("flux")
const seconds = (input: Duration.Input) => `${Math.ceil(Duration.toSeconds(input))}s`

const progressing = (why: string): CdDriver.Observed => ({ _tag: "Progressing", objects: [], why })

const kubeconfigOf = Effect.fnUntraced(function* ({ home }: Settings, wanted: CdDriver.Wanted) {
  const destination = yield* KubeFailure.classified(Home.destination(home, wanted))
  if (destination === undefined) return undefined
  if (!Kubeconfig.isPortable(destination.connection)) {
    return yield* CdDriver.Reasons.connection_unportable({ driver, cluster: destination.identity })
  }
  return Drafts.kubeconfigSecret(wanted, Kubeconfig.of(destination.connection))
})

const referencesOf = Effect.fnUntraced(function* (settings: Settings, wanted: CdDriver.Wanted) {
  const source = Drafts.sourceOf(wanted.id, wanted.chart, settings)
  if (source === undefined) {
    return yield* CdDriver.Reasons.chart_unsupported({ driver, source: Identifier.of("folder") })
  }
  const kubeconfig = yield* kubeconfigOf(settings, wanted)
  return { source, kubeconfig, values: Drafts.secretValues(wanted) }
})

const ownerReference = ({ apiVersion, kind, metadata }: Kinds.HelmRelease): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? ""
})

/** The source and the Secrets. They go with the HelmRelease, once there is one to say so. */
const ensureReferences = Effect.fnUntraced(function* (
  { home, ...settings }: Settings,
  wanted: CdDriver.Wanted,
  { kubeconfig, source, values }: Drafts.References,
  release: Kinds.HelmRelease | undefined
) {
  const owner = release && ownerReference(release)
  for (const content of [kubeconfig, values]) {
    if (content !== undefined) {
      yield* Home.ensure(home, Builtin.Secret, Drafts.secret(wanted, settings, content, owner))
    }
  }
  if (wanted.account !== undefined) {
    yield* Home.ensure(home, Builtin.ServiceAccount, Drafts.serviceAccount(wanted, settings, owner))
  }
  yield* Home.ensure(home, source.type, Drafts.source(wanted, settings, source, owner))
})

/** What an earlier version of the HelmRelease referred to. */
const prune = Effect.fnUntraced(function* (
  { home, namespace }: Settings,
  { account, id }: CdDriver.Release,
  { kubeconfig, source, values }: Drafts.References
) {
  const kept = new Set([kubeconfig?.name, source.name, values?.name, account && id])
  const labelSelector = `${Drafts.applicationLabel}=${id}`
  const types = [Builtin.Secret, Builtin.ServiceAccount, Kinds.HelmRepository, Kinds.OciRepository, Kinds.GitRepository]
  for (const type of types.map((each): ResourceType.ResourceType => each)) {
    const { items } = yield* home.client.list(type, { namespace, labelSelector, metadataOnly: true })
    yield* Effect.forEach(
      items.filter(({ metadata }) => !kept.has(metadata.name)),
      (each) => Home.remove(home, type, each)
    )
  }
})

const deploy = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted,
  references: Drafts.References,
  live: Kinds.HelmRelease | undefined
) {
  yield* ensureReferences(settings, wanted, references, live)
  const draft = Drafts.helmRelease(wanted, settings, references)
  const release = yield* Home.ensure(settings.home, Kinds.HelmRelease, draft)
  if (live === undefined) yield* ensureReferences(settings, wanted, references, release)
  if (live !== undefined && live.metadata.generation !== release.metadata.generation) {
    yield* prune(settings, wanted, references)
  }
  return release
})

const unavailable = (error: { readonly message: string }) =>
  CdDriver.Reasons.tool_unavailable(
    { driver },
    { why: `Flux's kinds, or its namespace, are not there: ${error.message}` }
  )

const refOf = ({ namespace }: Settings, { id }: CdDriver.Release) => ({ namespace, name: id })

const apply = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  const references = yield* referencesOf(settings, wanted)
  const live = yield* KubeFailure.classified(Home.read(settings.home, Kinds.HelmRelease, refOf(settings, wanted)))
  if (live !== undefined) {
    const { deletionTimestamp, finalizers = [], labels } = live.metadata
    const owner = labels?.[ownerLabel]
    if (deletionTimestamp !== undefined) {
      return { _tag: "Removing", objects: [], why: `HelmRelease ${wanted.id} is held by ${finalizers.join(", ")}` }
    }
    if (owner !== wanted.ownerUid) {
      yield* KubeFailure.classified(Home.declare(settings.home, Kinds.HelmRelease, refOf(settings, wanted)))
      return { _tag: "Taken", why: `HelmRelease ${wanted.id} belongs to ${owner}` }
    }
  } else {
    const left = yield* leftovers(settings, wanted)
    if (left !== undefined) return left
  }
  if (yield* KubeFailure.classified(granted(settings, wanted))) return progressing("its rights have just been given")
  const deployed = Effect.catchTag(deploy(settings, wanted, references, live), "NotFound", (error) =>
    Effect.fail(unavailable(error))
  )
  return yield* judge(settings, wanted, references, yield* KubeFailure.classified(deployed))
})

const bindingOf = ({ id, namespace }: CdDriver.Release) => ({ name: `berth-flux-${id}`, namespace })

/** The account that Flux impersonates is in Flux's namespace. Whether its rights were still missing. */
const granted = ({ namespace }: Settings, wanted: CdDriver.Wanted) =>
  wanted.account === undefined
    ? Effect.succeed(false)
    : Account.bind(bindingOf(wanted), wanted.account.role, { name: wanted.id, namespace })

/** What there is of the release before Flux has it: of another tool, or of a removal that is not finished. */
const leftovers = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted
): Effect.fn.Return<CdDriver.Observed | undefined, Disposition.ProvisionError, Client.Client> {
  const revision = yield* KubeFailure.classified(Releases.newest(wanted))
  if (revision === undefined) return undefined
  // A history that somebody kept on purpose is theirs, and in nobody's way.
  if (revision.status === "uninstalled" && revision.ownerUid === undefined) return undefined
  if (revision.status !== "uninstalled") {
    return { _tag: "Taken", why: `${revision.name}, which is ${revision.status}, is of no HelmRelease` }
  }
  const removal = yield* finish(wanted, revision)
  return removal._tag === "Gone" ? undefined : removal
})

/** What a source says while it cannot give what it is asked for. Until it has tried, it says nothing of the kind. */
const troubles = ["FetchFailed", "BuildFailed", "Stalled"]

const troubleOf = (source: Kinds.Reporting): string | undefined => {
  const found = troubles.map((type) => Kinds.current(source, type)).find((each) => each?.status === "True")
  return found && `${source.kind} ${source.metadata.name}: ${found.message}`
}

/** What keeps the source, or the chart that Flux makes of it, from being there. */
const sourceTrouble = Effect.fnUntraced(function* (
  { home, namespace }: Settings,
  { source }: Drafts.References,
  { status }: Kinds.HelmRelease
) {
  const [chartNamespace = "", chartName] = (status?.helmChart ?? "").split("/")
  const from = yield* Home.read(home, source.type, { namespace, name: source.name })
  const chart =
    chartName === undefined
      ? undefined
      : yield* Home.read(home, Kinds.HelmChart, { namespace: chartNamespace, name: chartName })
  return [from, chart].flatMap((each) => (each && troubleOf(each)) ?? [])[0]
})

const judge = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted,
  references: Drafts.References,
  release: Kinds.HelmRelease
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  if (release.spec.suspend === true) {
    yield* KubeFailure.classified(Home.declare(settings.home, Kinds.HelmRelease, refOf(settings, wanted)))
    return { _tag: "Suspended", why: `HelmRelease ${wanted.id} has spec.suspend` }
  }
  const stalled = Kinds.current(release, "Stalled")
  if (stalled?.status === "True") return Account.failure(wanted, stalled.message)
  const ready = Kinds.current(release, "Ready")
  if (ready?.status === "True") return yield* healthOf(wanted, release)
  // While Flux waits to try again, `Ready` is unknown.
  const released = Kinds.current(release, "Released")
  if (released?.status === "False") return Account.failure(wanted, released.message)
  const trouble = yield* KubeFailure.classified(sourceTrouble(settings, references, release))
  if (trouble !== undefined) return { _tag: "Failed", why: trouble }
  return progressing(ready === undefined ? "Flux has not seen the last change" : `${ready.reason}: ${ready.message}`)
})

const healthOf = Effect.fnUntraced(function* (
  wanted: CdDriver.Wanted,
  release: Kinds.HelmRelease
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  const last = release.status?.history?.[0]
  const revision = yield* KubeFailure.classified(Releases.newest(wanted))
  if (revision === undefined || revision.number !== last?.version) {
    return progressing("the revision that Flux deployed is not to be seen")
  }
  return Objects.observed(yield* KubeFailure.classified(Releases.healthOf(wanted, revision)))
})

const remove = Effect.fnUntraced(function* (
  settings: Settings,
  release: CdDriver.Release
): Effect.fn.Return<CdDriver.Removal, Disposition.ProvisionError, Client.Client> {
  yield* KubeFailure.classified(Home.destination(settings.home, release))
  const ref = refOf(settings, release)
  const read = KubeFailure.classified(Home.read(settings.home, Kinds.HelmRelease, ref))
  const live = yield* read
  const isLost = yield* KubeFailure.classified(Account.isLost(release))
  if (live?.metadata.labels?.[ownerLabel] === release.ownerUid) {
    if (isLost) yield* letGo(settings, live)
    else if (live.metadata.deletionTimestamp === undefined) yield* uninstall(settings, release, live)
    const left = yield* read
    if (left?.metadata.uid === live.metadata.uid) {
      const holders = left?.metadata.finalizers?.join(", ") ?? ""
      return { _tag: "Removing", objects: [], why: `HelmRelease ${release.id} is held by ${holders}` }
    }
  }
  if (isLost) return { _tag: "Gone" }
  const revision = yield* KubeFailure.classified(Releases.newest(release))
  const isOurs = revision !== undefined && revision.ownerUid === release.ownerUid
  const removal = isOurs ? yield* finish(release, revision) : gone
  if (release.account !== undefined && removal._tag === "Gone") {
    yield* KubeFailure.classified(Account.unbind(bindingOf(release)))
  }
  return removal
})

const gone: CdDriver.Removal = { _tag: "Gone" }

/** Flux cannot uninstall without the account, and everything went with the namespace: suspended, it lets go. */
const letGo = Effect.fnUntraced(function* ({ home }: Settings, live: Kinds.HelmRelease) {
  if (live.spec.suspend !== true) {
    yield* home.client.patch(Kinds.HelmRelease, live.metadata, { type: "merge", patch: { spec: { suspend: true } } })
  }
  if (live.metadata.deletionTimestamp === undefined) yield* Home.remove(home, Kinds.HelmRelease, live)
}, KubeFailure.classified)

/** Says whose the history is, while there is a HelmRelease that proves it, and has Flux uninstall. */
const uninstall = Effect.fnUntraced(function* ({ home }: Settings, release: CdDriver.Release, live: Kinds.HelmRelease) {
  const revision = yield* Releases.newest(release)
  if (revision !== undefined) yield* Releases.claim(release, revision)
  if (live.spec.suspend === true) {
    yield* home.client.patch(Kinds.HelmRelease, live.metadata, { type: "merge", patch: { spec: { suspend: null } } })
  }
  yield* Home.remove(home, Kinds.HelmRelease, live)
}, KubeFailure.classified)

/** Flux has done its part: the objects are waited for, and then the history goes. */
const finish = Effect.fnUntraced(function* (
  release: CdDriver.Release,
  revision: Releases.Revision
): Effect.fn.Return<CdDriver.Removal, Disposition.ProvisionError, Client.Client> {
  if (revision.status !== "uninstalled") {
    return { _tag: "Failed", why: `Flux left ${revision.name} behind, which is ${revision.status}` }
  }
  const objects = yield* KubeFailure.classified(Releases.objectsOf(release, revision))
  const left = yield* KubeFailure.classified(Releases.leftOf(release, objects))
  if (left !== undefined) return left
  yield* KubeFailure.classified(Releases.purge(release))
  return { _tag: "Gone" }
})

/**
 * The driver that has Flux deploy.
 *
 * **Example** (With what belongs to it in Flux's own namespace)
 * ```ts
 * import * as Flux from "@berth/provisioners/Flux"
 *
 * export const driver = Flux.layer({ namespace: "flux-system", interval: "5 minutes" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<CdDriver.CdDriver, never, Client.Client> =>
  Layer.effect(
    CdDriver.CdDriver,
    Effect.map(Client.Client, (client): CdDriver.Driver => {
      const { interval = "10 minutes", namespace, timeout = "5 minutes" } = options
      const home = Home.make(driver, client)
      const settings: Settings = { home, namespace, interval: seconds(interval), timeout: seconds(timeout) }
      return {
        name: driver,
        apply: (wanted) => apply(settings, wanted),
        remove: (release) => remove(settings, release)
      }
    })
  )

/**
 * What the driver asks of the API server in Flux's namespace.
 *
 * @category access
 * @since 0.1.0
 */
export const access = ({ namespace }: Pick<Options, "namespace">): ReadonlyArray<Access.Access> => [
  Access.to(Kinds.HelmRelease, ["get", "create", "patch", "delete"], { namespace }),
  Access.to(Kinds.HelmChart, ["get"], { namespace }),
  ...[Builtin.Secret, Builtin.ServiceAccount, Kinds.HelmRepository, Kinds.OciRepository, Kinds.GitRepository].map(
    (type: ResourceType.ResourceType) => Access.to(type, ["get", "list", "create", "patch", "delete"], { namespace })
  )
]
