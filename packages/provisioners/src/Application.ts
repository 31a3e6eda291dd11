/**
 * A provisioner of one Helm chart, deployed by whichever {@link CdDriver} the program has.
 *
 * **Guarantees**
 * - P30: which application it is follows from the names of its release alone, so two replicas or a stale cache cannot make two;
 *   another owner's release is never taken over, and one that another driver deployed is neither deployed again nor taken for gone.
 *   The chart is asked for in each provision pass, and every customisation is an effect of the owner.
 * - P31: it is ready when this chart with these values runs, and is not taken for ready because an earlier one was.
 * - P32: values are in order; a pass that changes nothing writes nothing.
 * - P33: a deprovision pass asks for the release's name and namespace and for nothing else, in particular for no chart.
 * - P34: `postProvision` runs once for each version that became ready, `preDeprovision` once before the removal. Either may fail
 *   or yield, and is run again in the next pass until it succeeds.
 * - P36: `allowDegraded` makes degraded good enough.
 * - P37: a value that is `Redacted` stays secret.
 * - S32: with an `account` the chart gets nothing that the account may not make: not outside of the release's namespace, whatever
 *   chart and values say.
 *
 * **Caveats**
 * - The account and its RoleBinding stay in the namespace when the application goes: others may use them.
 * - `release` must answer the same for as long as the owner lives: what was deployed under another name is not looked for.
 * - A hook that is interrupted after its last effect is run once more: write hooks that bear that.
 * - The namespace is made where it is missing, and left where it is.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import * as Builtin from "@berth/kube/Builtin"
import type { Client } from "@berth/kube/Client"
import { Effect, Option } from "effect"
import * as CdDriver from "./CdDriver.ts"
import * as Disposition from "./Disposition.ts"
import * as Identifier from "./Identifier.ts"
import * as compose from "./internal/compose.ts"
import * as Account from "./internal/cd/account.ts"
import * as Names from "./internal/cd/names.ts"
import * as Namespace from "./internal/cd/namespace.ts"
import * as Record from "./internal/cd/record.ts"
import * as Values from "./internal/cd/values.ts"
import * as KubeFailure from "./KubeFailure.ts"
import type * as Provisioner from "./Provisioner.ts"

/**
 * The reasons of an application that does not run yet, or is not gone yet.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `deploying` | the tool is at work | comes back in seconds | nothing |
 * | `waiting_for_objects` | deployed, and objects are not ready | comes back in seconds | see to the objects if it lasts |
 * | `degraded` | deployed, and objects have failed | retried with backoff | see to the objects |
 * | `failed` | the tool could not deploy it | retried with backoff | read the operator's log for the tool's words |
 * | `not_allowed` | it wants objects that its account may not make | retried with backoff | leave them out, or deploy it with other rights |
 * | `removing` | it is being removed | comes back in seconds | nothing |
 * | `held` | objects of it are not gone yet | comes back in seconds | see to whoever holds the objects |
 * | `removal_failed` | the tool could not remove it | retried with backoff | read the operator's log |
 * | `suspended` | somebody suspended it | parked | resume it, then ask for a retry |
 * | `taken` | the release belongs to something else | parked | rename or remove that release, then ask for a retry |
 * | `invalid_release` | no release can be called that | parked | choose another name |
 * | `invalid_chart` | no chart can be called that, or its URL has credentials | parked | correct it |
 * | `invalid_parameter` | a parameter's name is no path | parked | correct it |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("application", {
  deploying: Disposition.yield("Deploying {release}."),
  waiting_for_objects: Disposition.yield("Waiting for {objects} of {release} to become ready."),
  degraded: Disposition.transient("{objects} of {release} failed; the operator's log says why."),
  failed: Disposition.transient("{release} could not be deployed; the operator's log says why."),
  not_allowed: Disposition.transient("{release} may not have {objects}: its account has no right to make that."),
  removing: Disposition.yield("Waiting for {release} to be gone."),
  held: Disposition.yield("Waiting for {objects} of {release} to be gone."),
  removal_failed: Disposition.transient("{release} could not be removed; the operator's log says why."),
  suspended: Disposition.userActionRequired("{release} is suspended; resume it, then ask for a retry."),
  taken: Disposition.userActionRequired(
    "A release {release} exists and belongs to something else; rename or remove it, then ask for a retry."
  ),
  invalid_release: Disposition.terminal("The release's name or namespace is not a name that Kubernetes allows."),
  invalid_chart: Disposition.terminal("The chart's place, name or version is not as it has to be."),
  invalid_parameter: Disposition.terminal("The name of parameter {position} is not a path of values.")
})

/**
 * The object that the application belongs to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined; readonly uid: string }
}

/**
 * Given as it is, or found out from the owner in each pass.
 *
 * @category models
 * @since 0.1.0
 */
export type Given<O, A, R> = A | ((owner: O) => Effect.Effect<A, Disposition.ProvisionError, R>)

/**
 * What Helm calls the release, and where it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReleaseName {
  /** A DNS name of at most 53 characters. Default: the owner's and the application's name. */
  readonly name?: string | undefined
  /** Default: the owner's. An owner without one has to name it. */
  readonly namespace?: string | undefined
}

/**
 * One value and its place among the values, as in `--set`: `image.tag`, `hosts[0]`, `nodeSelector.kubernetes\.io/os`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parameter {
  readonly name: string
  readonly value: CdDriver.Value
}

/**
 * Run once for each need, until it succeeds.
 *
 * @category models
 * @since 0.1.0
 */
export type Hook<O, R> = (owner: O) => Effect.Effect<void, Disposition.ProvisionError, R>

/**
 * What an application is made from. Only the chart and the owner have to be there.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<O extends Owner, R> {
  readonly owner: O
  /** Which chart in which version: from a catalogue, a bundle, or a literal. */
  readonly chart: Given<O, CdDriver.Chart, R>
  /**
   * The ServiceAccount of the release's namespace with whose rights it is deployed; it is made where it is missing. Asked for in
   * deprovision passes too. Default: the tool acts with rights of its own.
   */
  readonly account?: Given<O, CdDriver.Account | undefined, R> | undefined
  /** Asked for in deprovision passes too. */
  readonly release?: Given<O, ReleaseName, R> | undefined
  readonly values?: Given<O, CdDriver.Values, R> | undefined
  /** Over the values, in order. */
  readonly parameters?: Given<O, ReadonlyArray<Parameter>, R> | undefined
  /** Labels and annotations of the namespace; others that it has are left alone. */
  readonly namespaceMetadata?: Given<O, NamespaceMetadata, R> | undefined
  /** Fields that are not corrected. Helm itself corrects none, so its driver has no use for them. */
  readonly ignoredDifferences?: Given<O, ReadonlyArray<CdDriver.IgnoredDifference>, R> | undefined
  /** Whether failed objects are good enough. Default false. */
  readonly allowDegraded?: Given<O, boolean, R> | undefined
  /** After it became ready, once for each version of it. */
  readonly postProvision?: Hook<O, R> | undefined
  /** Before it is removed, if it was ever provisioned, however little of it. */
  readonly preDeprovision?: Hook<O, R> | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export type NamespaceMetadata = Namespace.NamespaceMetadata

const soon = "2 seconds"
/** How long an API server may take to know of rights that it has just been told. */
const settling = "1 second"
const isAsked = <O, A, R>(
  from: Given<O, A, R>
): from is (owner: O) => Effect.Effect<A, Disposition.ProvisionError, R> => typeof from === "function"

const given = <O, A, R>(owner: O, from: Given<O, A, R>): Effect.Effect<A, Disposition.ProvisionError, R> =>
  isAsked(from) ? from(owner) : Effect.succeed(from)

const releaseOf = Effect.fnUntraced(function* <O extends Owner, R>(application: string, options: Options<O, R>) {
  const { metadata } = options.owner
  const asked = yield* given<O, ReleaseName, R>(options.owner, options.release ?? {})
  const { name = Names.releaseName(metadata.name, application), namespace = metadata.namespace ?? "" } = asked
  const destination = yield* CdDriver.Destination
  const id = Identifier.fromString(Names.idOf(name, namespace, destination?.identity ?? ""))
  if (!Names.isRelease(name, namespace) || Option.isNone(id)) {
    return yield* Reasons.invalid_release({ why: `release ${name} in namespace ${namespace}` })
  }
  const account = yield* given<O, CdDriver.Account | undefined, R>(options.owner, options.account)
  const release: CdDriver.Release = { id: id.value, ownerUid: metadata.uid, name, namespace }
  return account === undefined ? release : { ...release, account }
})

const chartOf = Effect.fnUntraced(function* <O extends Owner, R>({ chart: from, owner }: Options<O, R>) {
  const chart = yield* given(owner, from)
  return Names.isChart(chart) ? chart : yield* Reasons.invalid_chart({ why: `a chart from ${chart.source}` })
})

const valuesOf = Effect.fnUntraced(function* <O extends Owner, R>(options: Options<O, R>) {
  let values = yield* given<O, CdDriver.Values, R>(options.owner, options.values ?? {})
  const parameters = yield* given<O, ReadonlyArray<Parameter>, R>(options.owner, options.parameters ?? [])
  for (const [index, { name, value }] of parameters.entries()) {
    const path = Values.pathOf(name)
    if (path === undefined) return yield* Reasons.invalid_parameter({ position: index + 1 }, { why: name })
    values = Values.placed(values, path, value)
  }
  return Values.ordered(values)
})

/** The record goes first: it has the key of the digest, and remembers that there is something to tear down. */
const recordOf = Effect.fnUntraced(function* (release: CdDriver.Release, driver: CdDriver.Driver) {
  const found = yield* Record.read(release)
  if (found !== undefined && found.key !== "") {
    if (found.deprovisioned) yield* Record.note(release, { deprovisioned: null })
    return found
  }
  yield* Namespace.exists(release.namespace)
  return yield* Record.create(release, driver.name)
}, KubeFailure.classified)

/** Another tool knows nothing of the release: it would deploy it a second time, or take it for gone. */
const sameDriver = (record: Record.Record | undefined, release: CdDriver.Release, { name }: CdDriver.Driver) => {
  const before = record?.driver ?? name
  if (before === name) return Effect.void
  const driver = Option.getOrElse(Identifier.fromString(before), () => Identifier.of("former"))
  const { name: secret, namespace } = Record.refOf(release)
  const why = `to let ${name} have it, remove what ${before} made, and then Secret ${namespace}/${secret}, which remembers that`
  return Effect.fail(CdDriver.Reasons.other_driver({ driver, release: named(release) }, { why, after: "1 minute" }))
}

const named = ({ name, namespace }: CdDriver.Release): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(`${namespace}/${name}`), () => Identifier.of("the-release"))

const shown = (objects: ReadonlyArray<string>): ReadonlyArray<Identifier.Identifier> =>
  objects.flatMap((object) => Option.toArray(Identifier.fromString(object)))

const something = Identifier.of("Something")

/** A tool may know that something has failed, and not what. */
const shownOr = (objects: ReadonlyArray<string>, otherwise: Identifier.Identifier) => {
  const known = shown(objects)
  return known.length === 0 ? [otherwise] : known
}

const removing = (release: Identifier.Identifier, { objects, why }: CdDriver.Removing) => {
  const details = { why, after: soon } as const
  const left = shown(objects)
  return left.length === 0 ? Reasons.removing({ release }, details) : Reasons.held({ release, objects: left }, details)
}

/** Tools quote what they cannot use. */
const withoutSecrets = (observed: CdDriver.Observed, values: CdDriver.Values): CdDriver.Observed =>
  observed._tag === "Ready" ? observed : { ...observed, why: Values.masked(observed.why, Values.secretsOf(values)) }

/** What a driver saw, as a disposition; nothing where it is good enough. */
const verdict = (
  observed: CdDriver.Observed,
  release: Identifier.Identifier,
  allowDegraded: boolean
): Disposition.ProvisionError | undefined => {
  switch (observed._tag) {
    case "Ready":
      return undefined
    case "Progressing": {
      const objects = shown(observed.objects)
      const details = { why: observed.why, after: soon } as const
      return objects.length === 0
        ? Reasons.deploying({ release }, details)
        : Reasons.waiting_for_objects({ release, objects }, details)
    }
    case "Degraded":
      return allowDegraded
        ? undefined
        : Reasons.degraded({ release, objects: shownOr(observed.objects, something) }, { why: observed.why })
    case "Failed":
      return Reasons.failed({ release }, { why: observed.why })
    case "Forbidden":
      return Reasons.not_allowed({ release, objects: shownOr(observed.objects, something) }, { why: observed.why })
    case "Removing":
      return removing(release, observed)
    case "Suspended":
      return Reasons.suspended({ release }, { why: observed.why })
    case "Taken":
      return Reasons.taken({ release }, { why: observed.why })
  }
}

const provision = Effect.fnUntraced(function* <O extends Owner, R>(application: string, options: Options<O, R>) {
  const { owner } = options
  const release = yield* releaseOf(application, options)
  const chart = yield* chartOf(options)
  const values = yield* valuesOf(options)
  const ignored = options.ignoredDifferences ?? []
  const ignoredDifferences = yield* given<O, ReadonlyArray<CdDriver.IgnoredDifference>, R>(owner, ignored)
  const allowDegraded = yield* given<O, boolean, R>(owner, options.allowDegraded ?? false)

  if (options.namespaceMetadata !== undefined) {
    const metadata = yield* given(owner, options.namespaceMetadata)
    yield* KubeFailure.classified(Namespace.describe(release, metadata))
  }
  const driver = yield* CdDriver.CdDriver
  const record = yield* recordOf(release, driver)
  yield* sameDriver(record, release, driver)
  if (yield* KubeFailure.classified(Account.ensure(release))) {
    return yield* Reasons.deploying(
      { release: named(release) },
      { why: "its account has just been made", after: settling }
    )
  }
  const digest = Values.digest(record.key, [release, chart, Values.revealed(values), ignoredDifferences])
  const observed = yield* driver.apply({ ...release, chart, values, ignoredDifferences, digest })
  const unfinished = verdict(withoutSecrets(observed, values), named(release), allowDegraded)
  if (unfinished !== undefined) return yield* unfinished

  if (options.postProvision !== undefined && record.provisioned !== digest) {
    yield* options.postProvision(owner)
    yield* KubeFailure.classified(Record.note(release, { provisioned: digest }))
  }
})

const deprovision = Effect.fnUntraced(function* <O extends Owner, R>(application: string, options: Options<O, R>) {
  const release = yield* releaseOf(application, options)
  const record = yield* KubeFailure.classified(Record.read(release))
  const driver = yield* CdDriver.CdDriver
  yield* sameDriver(record, release, driver)
  if (options.preDeprovision !== undefined && record !== undefined && !record.deprovisioned) {
    yield* options.preDeprovision(options.owner)
    yield* KubeFailure.classified(Record.note(release, { deprovisioned: "yes" }))
  }
  if (yield* KubeFailure.classified(Account.restore(release))) {
    return yield* Reasons.removing(
      { release: named(release) },
      { why: "its account has just been made", after: settling }
    )
  }
  const removal = yield* driver.remove(release)
  if (removal._tag === "Removing") return yield* removing(named(release), removal)
  if (removal._tag === "Failed") return yield* Reasons.removal_failed({ release: named(release) }, { why: removal.why })
  if (record !== undefined) yield* KubeFailure.classified(Record.remove(release))
})

/**
 * Makes a provisioner of one chart.
 *
 * **Details**: `name` is the application's name among its owner's. A provision pass asks for the chart and the customisations,
 * has the driver deploy them, and succeeds once they run; a deprovision pass has the driver remove the release, and succeeds once
 * its objects are gone.
 *
 * **Errors**: {@link Reasons}, those of `CdDriver` and of `KubeFailure`, and those of the effects that are given.
 *
 * **Example** (An ingress controller for each environment)
 * ```ts
 * import * as Application from "@berth/provisioners/Application"
 * import { Effect, Redacted } from "effect"
 *
 * interface Environment {
 *   readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string }
 *   readonly spec: { readonly replicas: number }
 * }
 *
 * export const ingressOf = (environment: Environment) =>
 *   Application.make("ingress", {
 *     owner: environment,
 *     chart: { source: "repository", url: "https://charts.example.com", name: "ingress", version: "4.12.1" },
 *     values: ({ spec }) => Effect.succeed({ replicas: spec.replicas, apiKey: Redacted.make("sesame") })
 *   })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const N extends string, O extends Owner, R = never>(
  name: N & (N extends Identifier.Identifier ? unknown : Identifier.Literal<N>),
  options: Options<O, R>
): Provisioner.Provisioner<Client | CdDriver.CdDriver | R, N> =>
  compose.make(name, provision(name, options), deprovision(name, options))

/**
 * What applications ask of the API server where their releases are, beside their driver.
 *
 * **Details**: with an account everything that their charts have is the account's business. Without one the program needs to read
 * whatever kinds these have, and with Helm to do everything else with them, too.
 *
 * @category access
 * @since 0.1.0
 */
export const access = ({
  account,
  hooks = false,
  namespace
}: {
  readonly account?: CdDriver.Account | undefined
  /** Whether any of them has hooks. Default false. */
  readonly hooks?: boolean | undefined
  readonly namespace?: string | undefined
} = {}): ReadonlyArray<Access.Access> => [
  Access.to(Builtin.Namespace, ["get", "create", "patch"]),
  // The record, in which it is noted that hooks have run.
  Access.to(Builtin.Secret, ["get", "create", "delete", ...(hooks ? (["patch"] as const) : [])], { namespace }),
  ...(account === undefined
    ? []
    : [
        Access.to(Builtin.ServiceAccount, ["get", "create", "patch"], { namespace }),
        Access.to(Builtin.ServiceAccount, ["impersonate"], { namespace, names: [account.name] }),
        Access.to(Builtin.RoleBinding, ["get", "create", "patch", "delete"], { namespace }),
        Access.to(Builtin.ClusterRole, ["bind"], { names: [account.role] })
      ])
]
