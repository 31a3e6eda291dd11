/**
 * Deploys charts by Argo CD (3.1 or newer): an Application for each, and a Secret for each cluster that is not Argo CD's own.
 *
 * **Guarantees**
 * - P31: an Application is judged by a comparison with the very spec that is wanted, when no sync is under way, and then by each of its
 *   objects, by Argo CD's word and by kstatus; never by its health alone.
 * - P33: an Application that is being deleted is waited for. It is gone when Argo CD has seen its objects go.
 * - P35: automated sync is off, and no sync is pending, before an Application is deleted. A cluster's Secret goes with the last
 *   Application that names the cluster.
 * - S32: an Application with an account has an AppProject of its own, which allows its source, its namespace, and nothing that lives in
 *   no namespace. Where Argo CD impersonates, it does so with the account.
 * - P37: Argo CD keeps values in the Application, in the open. Secret ones are refused, unless `allowInlineSecrets` is set.
 *
 * **Caveats**
 * - A cluster elsewhere needs credentials that another program can use: tokens and certificates, no commands and no files. Argo CD
 *   knows clusters by their server: two registrations of one server are one to it.
 * - Sources that need credentials, or a registry without TLS, have to be known to Argo CD itself.
 * - A sync that hangs (in a hook, say) has to be terminated by somebody before what comes after it is deployed.
 * - Argo CD corrects drift, except for what `ignoredDifferences` names.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import type * as ResourceType from "@berth/kube/ResourceType"
import { Effect, Layer } from "effect"
import * as CdDriver from "./CdDriver.ts"
import type * as Disposition from "./Disposition.ts"
import * as Identifier from "./Identifier.ts"
import * as Account from "./internal/cd/account.ts"
import * as Drafts from "./internal/cd/argo/drafts.ts"
import * as Kinds from "./internal/cd/argo/kinds.ts"
import * as Home from "./internal/cd/home.ts"
import * as Objects from "./internal/cd/objects.ts"
import * as Values from "./internal/cd/values.ts"
import { equal } from "./internal/json.ts"
import * as KubeFailure from "./KubeFailure.ts"
import { ownerLabel } from "./ObjectProvisioner.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Argo CD's own namespace, where Applications and clusters are. */
  readonly namespace: string
  /** The AppProject of the Applications. Default `default`. */
  readonly project?: string | undefined
  /** Puts secret values into Applications, where whoever may read those reads them. Default false. */
  readonly allowInlineSecrets?: boolean | undefined
}

/**
 * Argo CD's kind, for the `inputs` of a manager: then an object that waits for an Application to be given up by another owner is served
 * when that happens.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Application: ResourceType.ResourceType = Kinds.Application

interface Settings extends Drafts.Settings {
  readonly home: Home.Home
  readonly allowInlineSecrets: boolean
}

const driver = Identifier.of("argocd")

const progressing = (why: string): CdDriver.Observed => ({ _tag: "Progressing", objects: [], why })

const sourceOf = Effect.fnUntraced(function* (settings: Settings, { chart, id, values }: CdDriver.Wanted) {
  const source = Drafts.sourceOf(chart)
  if (source === undefined) {
    const from = chart.source === "path" ? Identifier.of("folder") : Identifier.of("registry-without-TLS")
    return yield* CdDriver.Reasons.chart_unsupported({ driver, source: from })
  }
  if (Values.holdsSecret(values) && !settings.allowInlineSecrets) {
    return yield* CdDriver.Reasons.secrets_refused({ driver, release: id }, { why: "allowInlineSecrets is not set" })
  }
  return source
})

const remoteOf = Effect.fnUntraced(function* ({ home }: Settings, release: CdDriver.Release) {
  const remote = yield* KubeFailure.classified(Home.destination(home, release))
  if (remote !== undefined && !Drafts.isUsable(remote.connection)) {
    return yield* CdDriver.Reasons.connection_unportable({ driver, cluster: remote.identity })
  }
  return remote
})

const refOf = ({ namespace }: Settings, { id }: CdDriver.Release) => ({ namespace, name: id })

const unavailable = (error: KubeError.NotFound) =>
  CdDriver.Reasons.tool_unavailable(
    { driver },
    { why: `Argo CD's kinds, or its namespace, are not there: ${error.message}` }
  )

const apply = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  const { home } = settings
  const source = yield* sourceOf(settings, wanted)
  const remote = yield* remoteOf(settings, wanted)
  const live = yield* KubeFailure.classified(Home.read(home, Kinds.Application, refOf(settings, wanted)))
  const owner = live?.metadata.labels?.[ownerLabel]
  if (live?.metadata.deletionTimestamp !== undefined) return held(live)
  if (live !== undefined && owner !== wanted.ownerUid) {
    yield* KubeFailure.classified(Home.declare(home, Kinds.Application, refOf(settings, wanted)))
    return { _tag: "Taken", why: `Application ${wanted.id} belongs to ${owner}` }
  }
  const spec = Drafts.specOf(wanted, settings, source, remote)
  yield* restrict(settings, wanted, spec)
  // First what needs the cluster, then the cluster: whoever removes one looks for what needs it.
  const application = yield* Home.ensure(
    home,
    Kinds.Application,
    Drafts.application(wanted, settings, spec, remote)
  ).pipe(
    Effect.catchTag("NotFound", (error) => Effect.fail(unavailable(error))),
    KubeFailure.classified
  )
  if (remote !== undefined) {
    yield* KubeFailure.classified(Home.ensure(home, Builtin.Secret, Drafts.clusterSecret(settings, remote)))
  }
  return yield* judge(settings, wanted, application)
})

/** The project is there before what it restricts. */
const restrict = Effect.fnUntraced(function* (settings: Settings, wanted: CdDriver.Wanted, spec: Kinds.Spec) {
  if (wanted.account === undefined) return
  const draft = Drafts.project(wanted, settings, spec, wanted.account)
  yield* Home.ensure(settings.home, Kinds.AppProject, draft).pipe(
    Effect.catchTag("NotFound", (error) => Effect.fail(unavailable(error))),
    KubeFailure.classified
  )
})

const held = ({ metadata, status }: Kinds.Application): CdDriver.Removing => {
  const trouble = (status?.conditions ?? [])
    .filter(({ type }) => type === "DeletionError")
    .map(({ message }) => message)
  const objects = (status?.resources ?? []).map(({ kind, name }) => `${kind}/${name}`)
  const why = [`Application ${metadata.name} is held by ${metadata.finalizers?.join(", ")}`, ...trouble].join("; ")
  return { _tag: "Removing", objects, why }
}

/** Whether Argo CD's word is about this spec. It leaves out what is empty. */
const isCompared = ({ spec, status }: Kinds.Application): boolean => {
  const { destination, ignoreDifferences = [], source } = status?.sync?.comparedTo ?? {}
  return (
    equal(source, spec.source) &&
    equal(destination, spec.destination) &&
    equal(ignoreDifferences, spec.ignoreDifferences ?? [])
  )
}

const messages = ({ status }: Kinds.Application, types: ReadonlyArray<string>): string =>
  (status?.conditions ?? [])
    .filter(({ type }) => types.includes(type))
    .map(({ message, type }) => `${type}: ${message}`)
    .join("; ")

const permission = / is not permitted in project /u
/** Of kinds the project refuses only those that live in no namespace. Argo CD reports them with that of the Application. */
const ofCluster = /^resource \S+ is not permitted in project /u

/** Objects of a sync that the project, or the API server, refused. */
const refused = ({ status }: Kinds.Application): ReadonlyArray<string> =>
  (status?.operationState?.syncResult?.resources ?? [])
    .filter((each) => each.status === "SyncFailed")
    .flatMap(({ kind, message = "", name, namespace = "" }) =>
      permission.test(message)
        ? [[kind, ofCluster.test(message) ? "" : namespace, name].filter((part) => part !== "").join("/")]
        : Account.refusedBy(message)
    )

const syncFailure = (wanted: CdDriver.Wanted, application: Kinds.Application, message: string): CdDriver.Observed => {
  const why = [message, messages(application, ["SyncError"])].join("; ")
  const objects = wanted.account === undefined ? [] : refused(application)
  return objects.length === 0 ? Account.failure(wanted, why) : { _tag: "Forbidden", objects, why }
}

const judge = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted,
  application: Kinds.Application
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  const { operation, spec, status } = application
  const invalid = messages(application, ["InvalidSpecError", "ComparisonError"])
  if (!isCompared(application)) return progressing(`Argo CD has not compared the last change. ${invalid}`.trimEnd())
  if (invalid !== "") {
    yield* again(settings, application)
    return { _tag: "Failed", why: invalid }
  }
  const { message = "", phase = "", syncResult } = status?.operationState ?? {}
  if (operation !== undefined || phase === "Running" || phase === "Terminating")
    return progressing(`syncing: ${message}`)
  if (status?.sync?.status === "Synced") return yield* healthOf(wanted, application)
  if ((phase === "Failed" || phase === "Error") && equal(syncResult?.source, spec.source)) {
    yield* again(settings, application)
    return syncFailure(wanted, application, message)
  }
  return progressing(`the sync status is ${status?.sync?.status}`)
})

/** Argo CD does not try by itself what has failed for this revision. A comparison is done anew, and a sync as well. */
const again = ({ home }: Settings, { metadata, status }: Kinds.Application) => {
  const failed = status?.operationState?.phase === "Failed" || status?.operationState?.phase === "Error"
  const sync = { initiatedBy: { username: "berth", automated: true }, sync: { prune: true } }
  const patch = {
    metadata: { annotations: { "argocd.argoproj.io/refresh": "normal" } },
    ...(failed && status?.sync?.status === "OutOfSync" ? { operation: sync } : {})
  }
  return KubeFailure.classified(home.client.patch(Kinds.Application, metadata, { type: "merge", patch }))
}

const listed = (
  { group = "", kind, name, namespace = "", version }: Kinds.Resource,
  otherwise: string
): Objects.Listed => ({
  apiVersion: group === "" ? version : `${group}/${version}`,
  kind,
  name,
  namespace: namespace === "" ? otherwise : namespace,
  kept: false
})

/** Argo CD knows kinds that kstatus does not, and kstatus whether a report is older than a change: both have to agree. */
const healthOf = Effect.fnUntraced(function* (
  wanted: CdDriver.Wanted,
  { spec, status }: Kinds.Application
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  const resources = (status?.resources ?? []).filter(({ hook }) => hook !== true)
  const namespace = typeof spec.destination["namespace"] === "string" ? spec.destination["namespace"] : ""
  const objects = resources.map((each) => listed(each, namespace))
  const health = yield* KubeFailure.classified(Account.as(Objects.healthOf(objects), wanted))
  const overall = status?.health?.status ?? "Unknown"
  const why = [`Argo CD says ${overall}`, health.why].join("; ")
  if (health.failed.length > 0 || overall === "Degraded") return { _tag: "Degraded", objects: health.failed, why }
  const waiting = [...health.missing, ...health.waiting]
  const isWell = waiting.length === 0 && (overall === "Healthy" || overall === "Suspended")
  return isWell ? { _tag: "Ready" } : { _tag: "Progressing", objects: waiting, why }
})

const remove = Effect.fnUntraced(function* (
  settings: Settings,
  release: CdDriver.Release
): Effect.fn.Return<CdDriver.Removal, Disposition.ProvisionError, Client.Client> {
  const { home } = settings
  const remote = yield* KubeFailure.classified(Home.destination(home, release))
  const read = KubeFailure.classified(Home.read(home, Kinds.Application, refOf(settings, release)))
  const live = yield* read
  if (live?.metadata.labels?.[ownerLabel] === release.ownerUid) {
    const isLost = yield* KubeFailure.classified(Account.isLost(release))
    if (isLost) yield* KubeFailure.classified(letGo(home, live))
    else if (live.metadata.deletionTimestamp === undefined) yield* KubeFailure.classified(uninstall(home, live))
    const left = yield* read
    if (left !== undefined && left.metadata.uid === live.metadata.uid) return held(left)
  }
  if (release.account !== undefined) yield* KubeFailure.classified(unrestrict(settings, release))
  if (remote !== undefined) yield* KubeFailure.classified(forget(settings, remote))
  return { _tag: "Gone" }
})

/** No sync may begin while the objects go; and without its finalizer Argo CD would leave them behind. */
const uninstall = Effect.fnUntraced(function* (home: Home.Home, live: Kinds.Application) {
  const { finalizers = [], resourceVersion } = live.metadata
  const patch = {
    metadata: { resourceVersion, finalizers: [...new Set([...finalizers, Drafts.finalizer])] },
    spec: { syncPolicy: { automated: null } },
    operation: null
  }
  yield* home.client.patch(Kinds.Application, live.metadata, { type: "merge", patch })
  yield* Home.remove(home, Kinds.Application, live)
})

/** Everything went with the namespace: without its finalizers Argo CD has nothing to delete. */
const letGo = Effect.fnUntraced(function* (home: Home.Home, live: Kinds.Application) {
  const { finalizers = [], resourceVersion } = live.metadata
  const left = finalizers.filter((each) => !each.startsWith(Drafts.finalizerDomain))
  if (left.length < finalizers.length) {
    const patch = { metadata: { resourceVersion, finalizers: left } }
    yield* home.client.patch(Kinds.Application, live.metadata, { type: "merge", patch })
  }
  yield* Home.remove(home, Kinds.Application, live)
})

/** The project goes after what it restricted. */
const unrestrict = Effect.fnUntraced(function* (settings: Settings, release: CdDriver.Release) {
  const { home } = settings
  const live = yield* Home.read(home, Kinds.AppProject, refOf(settings, release))
  if (live?.metadata.labels?.[ownerLabel] === release.ownerUid) yield* Home.remove(home, Kinds.AppProject, live)
})

/** The last application of a cluster takes the cluster with it. Those that are being deleted need it most. */
const forget = Effect.fnUntraced(function* (settings: Settings, remote: CdDriver.RemoteDestination) {
  const { home, namespace } = settings
  const labelSelector = `${Drafts.clusterLabel}=${remote.identity}`
  const { items } = yield* home.client.list(Kinds.Application, { namespace, labelSelector, metadataOnly: true })
  const secret = yield* Home.read(home, Builtin.Secret, { namespace, name: Drafts.clusterName(remote) })
  if (items.length === 0 && secret !== undefined) yield* Home.remove(home, Builtin.Secret, secret)
})

/**
 * The driver that has Argo CD deploy.
 *
 * **Example** (In a project of their own)
 * ```ts
 * import * as ArgoCd from "@berth/provisioners/ArgoCd"
 *
 * export const driver = ArgoCd.layer({ namespace: "argocd", project: "environments" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<CdDriver.CdDriver, never, Client.Client> =>
  Layer.effect(
    CdDriver.CdDriver,
    Effect.map(Client.Client, (client): CdDriver.Driver => {
      const { allowInlineSecrets = false, namespace, project = "default" } = options
      const settings: Settings = { home: Home.make(driver, client), namespace, project, allowInlineSecrets }
      return {
        name: driver,
        apply: (wanted) => apply(settings, wanted),
        remove: (release) => remove(settings, release)
      }
    })
  )

/**
 * What the driver asks of the API server in Argo CD's namespace.
 *
 * @category access
 * @since 0.1.0
 */
export const access = ({ namespace }: Pick<Options, "namespace">): ReadonlyArray<Access.Access> => [
  Access.to(Kinds.Application, ["get", "list", "create", "patch", "delete"], { namespace }),
  Access.to(Kinds.AppProject, ["get", "create", "patch", "delete"], { namespace }),
  Access.to(Builtin.Secret, ["get", "create", "patch", "delete"], { namespace })
]
