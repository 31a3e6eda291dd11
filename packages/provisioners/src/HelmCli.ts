/**
 * Deploys charts by running `helm`, version 3.18 or newer, or 4.
 *
 * **Guarantees**
 * - P31: a release is ready when the newest revision is the one that is wanted, deployed, and each object of its manifest says by
 *   kstatus that it is, about its own last change.
 * - P32: helm is not run at all while what is wanted is deployed.
 * - P33: a release is uninstalled first, its objects are waited for, and its history goes last; one that is being uninstalled
 *   is not upgraded.
 * - P35: history is kept; a revision that was left pending counts as failed once no helm can be at work on it any more, and is
 *   followed by another; what helm says of a failure is in `why` only.
 * - S32: with an account, helm impersonates it, and so does whatever reads what helm remembers. A namespace that is gone or going has
 *   taken the release with it.
 * - P37: values and credentials reach helm by files that only this program's user can read. They are in a folder of their own,
 *   which is gone when helm has ended, also when the pass was interrupted. What a process that was killed has left behind goes with a
 *   later run.
 *
 * **Caveats**
 * - No charts from Git: helm takes none without plugins, and none are run. Package such a chart, or use Flux or Argo CD.
 * - A chart's folder must hold its dependencies: they are not fetched.
 * - Helm corrects no drift. An object that is missing altogether is made anew by another upgrade, at most once a minute.
 * - A chart's hooks hold up the pass for as long as they run, up to `timeout`.
 * - Whoever may read the Secrets of the release's namespace sees the values: helm keeps them there.
 *
 * @since 0.1.0
 */
import * as Client from "@berth/kube/Client"
import type { Connection } from "@berth/kube/Connection"
import { Clock, Duration, Effect, Layer } from "effect"
import * as CdDriver from "./CdDriver.ts"
import type * as Disposition from "./Disposition.ts"
import * as Identifier from "./Identifier.ts"
import * as Account from "./internal/cd/account.ts"
import * as Command from "./internal/cd/helm/command.ts"
import * as Kubeconfig from "./internal/cd/helm/kubeconfig.ts"
import * as Releases from "./internal/cd/helm/releases.ts"
import * as Home from "./internal/cd/home.ts"
import * as Objects from "./internal/cd/objects.ts"
import * as Values from "./internal/cd/values.ts"
import * as KubeFailure from "./KubeFailure.ts"
import { ownerLabel } from "./ObjectProvisioner.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How helm reaches the program's own cluster; the same that the client in the context is made from. */
  readonly connection: Connection
  /** The program's name or path. Default `helm`. */
  readonly program?: string | undefined
  /**
   * How long one run may take, the chart's hooks included. Default 4 minutes, a minute less than a reconcile may. A revision
   * that is pending for longer was left behind.
   */
  readonly timeout?: Duration.Input | undefined
  /** Revisions that are kept. Default 10. */
  readonly historyMax?: number | undefined
}

interface Settings {
  readonly home: Home.Home
  readonly connection: Connection
  readonly program: string
  readonly timeout: Duration.Duration
  readonly historyMax: number
}

const driver = Identifier.of("helm")
const repairEveryMs = 60_000
/** A helm that was told to stop may write for so long. */
const graceMs = 10_000

type Pass<A> = Effect.Effect<A, Disposition.ProvisionError, Client.Client>

/** The connection to the cluster that the client in the context is of. */
const connectionOf = ({ connection, home }: Settings, release: CdDriver.Release): Pass<Connection> =>
  KubeFailure.classified(
    Effect.map(Home.destination(home, release), (destination) =>
      Account.connected(destination?.connection ?? connection, release)
    )
  )

/** What helm said when it failed; undefined when it did not. */
const helm = Effect.fnUntraced(function* (
  settings: Settings,
  release: CdDriver.Release,
  options: ReadonlyArray<string>,
  names: ReadonlyArray<string>,
  values: CdDriver.Values = {}
): Effect.fn.Return<string | undefined, Disposition.ProvisionError, Client.Client> {
  const { program, timeout } = settings
  const connection = yield* connectionOf(settings, release)
  const files = { kubeconfig: Kubeconfig.of(connection), "values.json": JSON.stringify(Values.revealed(values)) }
  const place = ["--namespace", release.namespace, "--timeout", `${Math.ceil(Duration.toSeconds(timeout))}s`]
  // A name is never taken for an option.
  return yield* Command.run({ program, args: [...options, ...place, "--", ...names], files, timeout }).pipe(
    Effect.as(undefined),
    Effect.catchTags({
      HelmMissing: ({ why }) => Effect.fail(CdDriver.Reasons.tool_unavailable({ driver }, { why })),
      HelmFailed: ({ output }) => Effect.succeed(output)
    })
  )
})

/** What a chart is called, and the options that say where it is; nothing where helm does not take it. */
const chartArgs = (
  chart: CdDriver.Chart
): { readonly chart: string; readonly options: ReadonlyArray<string> } | undefined => {
  switch (chart.source) {
    case "repository":
      return { chart: chart.name, options: ["--repo", chart.url, "--version", chart.version] }
    case "oci": {
      const plain = chart.plainHttp === true ? ["--plain-http"] : []
      return { chart: chart.url, options: ["--version", chart.version, ...plain] }
    }
    case "path":
      return { chart: chart.path, options: [] }
    case "git":
      return undefined
  }
}

const upgrade = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  const { chart, digest, name, ownerUid, values } = wanted
  const args = chartArgs(chart)
  if (args === undefined) {
    const source = Identifier.of("Git-repository")
    return yield* CdDriver.Reasons.chart_unsupported({ driver, source })
  }
  const labels = `${ownerLabel}=${ownerUid},${Releases.digestLabel}=${digest}`
  const flags = ["--install", "--reset-values", "--history-max", String(settings.historyMax), "--labels", labels]
  const options = ["upgrade", ...args.options, ...flags, "--values", "{values.json}"]
  const problem = yield* helm(settings, wanted, options, [name, args.chart], values)
  if (problem !== undefined) return Account.failure(wanted, problem)
  const revision = yield* KubeFailure.classified(Releases.newest(wanted))
  return revision?.digest === digest && revision.status === "deployed"
    ? Objects.observed(yield* KubeFailure.classified(Releases.healthOf(wanted, revision)))
    : { _tag: "Progressing", objects: [], why: "the new revision is not to be seen yet" }
})

/** The deployed revision is the wanted one. What somebody has deleted by hand is made anew. */
const watch = Effect.fnUntraced(function* (settings: Settings, wanted: CdDriver.Wanted, revision: Releases.Revision) {
  const health = yield* KubeFailure.classified(Releases.healthOf(wanted, revision))
  const nowMs = yield* Clock.currentTimeMillis
  return health.missing.length > 0 && nowMs - revision.changedAtMs > repairEveryMs
    ? yield* upgrade(settings, wanted)
    : Objects.observed(health)
})

const apply = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  yield* connectionOf(settings, wanted)
  const revision = yield* KubeFailure.classified(Releases.newest(wanted))
  if (revision === undefined) return yield* upgrade(settings, wanted)
  if (revision.ownerUid !== wanted.ownerUid) return taken(revision)
  const { digest, status } = revision
  if (status === "uninstalling" || status === "uninstalled") return yield* finish(settings, wanted)
  if (status.startsWith("pending-")) return yield* recover(settings, wanted, revision)
  return status === "deployed" && digest === wanted.digest
    ? yield* watch(settings, wanted, revision)
    : yield* upgrade(settings, wanted)
})

/** A removal that nobody here has begun is finished by nobody here, and a history that somebody kept is theirs. */
const taken = ({ name, ownerUid, status }: Releases.Revision): CdDriver.Observed =>
  ownerUid !== undefined && (status === "uninstalling" || status === "uninstalled")
    ? { _tag: "Removing", objects: [], why: `${name}, of ${ownerUid}, is ${status}` }
    : { _tag: "Taken", why: `${name}, which is ${status}, belongs to ${ownerUid ?? "nobody that is known here"}` }

/** A removal that was interrupted is finished before anything is installed. */
const finish = (settings: Settings, release: CdDriver.Release): Pass<CdDriver.Observed> =>
  Effect.map(remove(settings, release), (removal) =>
    removal._tag === "Gone" ? { _tag: "Removing", objects: [], why: "it has just gone" } : removal
  )

const recover = Effect.fnUntraced(function* (
  settings: Settings,
  wanted: CdDriver.Wanted,
  revision: Releases.Revision
): Effect.fn.Return<CdDriver.Observed, Disposition.ProvisionError, Client.Client> {
  const pendingMs = (yield* Clock.currentTimeMillis) - revision.changedAtMs
  if (pendingMs <= Duration.toMillis(settings.timeout) + graceMs) {
    return { _tag: "Progressing", objects: [], why: `${revision.name} is ${revision.status}` }
  }
  yield* Effect.logWarning(`${revision.name} was left ${revision.status}; it counts as failed`)
  yield* KubeFailure.classified(Releases.fail(wanted, revision))
  return yield* upgrade(settings, wanted)
})

const remove = Effect.fnUntraced(function* (
  settings: Settings,
  release: CdDriver.Release
): Effect.fn.Return<CdDriver.Removal, Disposition.ProvisionError, Client.Client> {
  if (yield* KubeFailure.classified(Account.isLost(release))) return { _tag: "Gone" }
  const revision = yield* KubeFailure.classified(Releases.newest(release))
  if (revision === undefined || revision.ownerUid !== release.ownerUid) return { _tag: "Gone" }
  const objects = yield* KubeFailure.classified(Releases.objectsOf(release, revision))
  if (revision.status !== "uninstalled") {
    const problem = yield* helm(settings, release, ["uninstall", "--keep-history"], [release.name])
    if (problem !== undefined) return { _tag: "Failed", why: problem }
  }
  const left = yield* KubeFailure.classified(Releases.leftOf(release, objects))
  if (left !== undefined) return left
  // Of a release that is uninstalled already, this removes the history.
  const problem = yield* helm(settings, release, ["uninstall"], [release.name])
  return problem === undefined ? { _tag: "Gone" } : { _tag: "Failed", why: problem }
})

/**
 * The driver that runs `helm`.
 *
 * **Example** (For the cluster at hand)
 * ```ts
 * import * as Connection from "@berth/kube/Connection"
 * import * as HelmCli from "@berth/provisioners/HelmCli"
 * import { Effect, Layer } from "effect"
 *
 * export const driver = Layer.unwrap(Effect.map(Connection.detect(), (connection) => HelmCli.layer({ connection })))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<CdDriver.CdDriver> =>
  Layer.effect(
    CdDriver.CdDriver,
    Effect.map(Client.Client, (client): CdDriver.Driver => {
      const { connection, historyMax = 10, program = "helm", timeout = "4 minutes" } = options
      const duration = Duration.fromInputUnsafe(timeout)
      const home = Home.make(driver, client)
      const settings: Settings = { home, connection, program, timeout: duration, historyMax }
      return {
        name: driver,
        apply: (wanted) => apply(settings, wanted),
        remove: (release) => remove(settings, release)
      }
    })
  ).pipe(Layer.provide(Client.layerFromConnection(options.connection)))
