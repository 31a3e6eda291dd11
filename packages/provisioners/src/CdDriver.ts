/**
 * What deploys charts: a service with one implementation for each tool, so that an {@link Application} does not know which.
 *
 * **Guarantees**
 * - P31: a driver says `Ready` only about what is wanted now: this digest, deployed and healthy since.
 * - P33: `remove` is given a release and nothing else, so neither the chart nor its version need exist any more. What is being
 *   removed is not deployed anew before it is gone.
 * - S32: a release with an {@link Account} is deployed, looked at and removed with the rights of that account, also where somebody
 *   has tampered with what the tool remembers of it.
 * - P37: what is secret among the values stands there as `Redacted`, and no driver takes it out except into a Secret or a
 *   private file.
 *
 * **Caveats**
 * - A driver works on the cluster that it was made for, and on others only as {@link Destination} says.
 *
 * @since 0.1.0
 */
import type { Client } from "@berth/kube/Client"
import type { Connection } from "@berth/kube/Connection"
import { Context, type Effect, type Redacted } from "effect"
import * as Disposition from "./Disposition.ts"
import type { Identifier } from "./Identifier.ts"

/**
 * A value of a chart: JSON, in which a `Redacted` text is one that nobody may see.
 *
 * @category models
 * @since 0.1.0
 */
export type Value = string | number | boolean | null | Redacted.Redacted | ReadonlyArray<Value> | Values

/**
 * The values of a chart, as in a values file.
 *
 * @category models
 * @since 0.1.0
 */
export interface Values {
  readonly [key: string]: Value
}

/**
 * Where a chart is. `version` and `revision` are exact: no driver looks for newer ones.
 *
 * **Details**: a `path` is a folder on the machine that the program runs on, so only a driver that runs there has it; its
 * `version` is whatever changes when the folder does.
 *
 * @category models
 * @since 0.1.0
 */
export type Chart =
  | { readonly source: "repository"; readonly url: string; readonly name: string; readonly version: string }
  | {
      readonly source: "oci"
      /** `oci://registry/path/chart` */
      readonly url: string
      readonly version: string
      /** Without TLS. Default false. */
      readonly plainHttp?: boolean | undefined
    }
  | { readonly source: "git"; readonly url: string; readonly path: string; readonly revision: string }
  | { readonly source: "path"; readonly path: string; readonly version: string }

/**
 * Fields that somebody else sets, by JSON pointers, of all objects that match.
 *
 * @category models
 * @since 0.1.0
 */
export interface IgnoredDifference {
  readonly group?: string | undefined
  readonly kind: string
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  readonly pointers: ReadonlyArray<string>
}

/**
 * With whose rights a release is deployed: those of a ServiceAccount in its namespace, which may do there what a role says, and
 * nothing anywhere else.
 *
 * @category models
 * @since 0.1.0
 */
export interface Account {
  /** The ServiceAccount's name, and that of the RoleBinding which gives it the role. */
  readonly name: string
  /** The ClusterRole that it has in the namespace. The program needs the right to `bind` it. */
  readonly role: string
}

/**
 * Which application this is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Release {
  /** The name of whatever object stands for it; a function of the release and its cluster, at most 63 characters. */
  readonly id: Identifier
  /** The UID of the object that it belongs to: the label `berth.dev/owner-uid` wherever there is room for one. */
  readonly ownerUid: string
  /** Helm's name for it, at most 53 characters. */
  readonly name: string
  /** Where its objects are. The namespace exists. */
  readonly namespace: string
  /** It exists, and so does its RoleBinding. Absent: the tool acts with rights of its own. */
  readonly account?: Account | undefined
}

/**
 * What is to run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wanted extends Release {
  readonly chart: Chart
  /** With the parameters in place, and keys in order. */
  readonly values: Values
  readonly ignoredDifferences: ReadonlyArray<IgnoredDifference>
  /** Changes when anything of the above does, 40 hex digits. It tells nothing of the values, since it is keyed. */
  readonly digest: string
}

/**
 * What a driver saw after it had done what it could. Objects are named `Kind/name`; `why` is for logs.
 *
 * @category models
 * @since 0.1.0
 */
export type Observed =
  /** What is wanted is deployed, and all its objects are well. */
  | { readonly _tag: "Ready" }
  /** Nothing is wrong yet. */
  | { readonly _tag: "Progressing"; readonly objects: ReadonlyArray<string>; readonly why: string }
  /** What is wanted is deployed, and some of its objects have failed. */
  | { readonly _tag: "Degraded"; readonly objects: ReadonlyArray<string>; readonly why: string }
  /** What is wanted could not be deployed. */
  | { readonly _tag: "Failed"; readonly why: string }
  /** The same, since its account may not make these, which are named as the API server calls them. */
  | { readonly _tag: "Forbidden"; readonly objects: ReadonlyArray<string>; readonly why: string }
  /** An earlier one is being removed; what is wanted comes after it. */
  | Removing
  /** Somebody told the tool to leave it alone. */
  | { readonly _tag: "Suspended"; readonly why: string }
  /** A release of that name belongs to something else. */
  | { readonly _tag: "Taken"; readonly why: string }

/**
 * Not gone yet. `objects` are those that are still there, if any are known.
 *
 * @category models
 * @since 0.1.0
 */
export interface Removing {
  readonly _tag: "Removing"
  readonly objects: ReadonlyArray<string>
  readonly why: string
}

/**
 * What became of a removal. A release of something else counts as gone.
 *
 * @category models
 * @since 0.1.0
 */
export type Removal = { readonly _tag: "Gone" } | Removing | { readonly _tag: "Failed"; readonly why: string }

/**
 * What a tool has to do.
 *
 * **Details**: both are called again and again, may be interrupted at any point, and are given the client of the cluster that the
 * objects of the release are on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Driver {
  /** `helm`, `flux`, `argocd`, … */
  readonly name: Identifier
  /** Sees to it that this is deployed, and says how far that is. Writes nothing where nothing is to be changed. */
  readonly apply: (wanted: Wanted) => Effect.Effect<Observed, Disposition.ProvisionError, Client>
  /** Sees to it that it is not, and says whether it is gone, with all its objects. */
  readonly remove: (release: Release) => Effect.Effect<Removal, Disposition.ProvisionError, Client>
}

/**
 * The driver of this program.
 *
 * @category services
 * @since 0.1.0
 */
export class CdDriver extends Context.Service<CdDriver, Driver>()("@berth/provisioners/CdDriver") {}

/**
 * A cluster other than the driver's own.
 *
 * @category models
 * @since 0.1.0
 */
export interface RemoteDestination {
  /** Names the cluster for good: two clusters never have the same, and it outlives changes of the credentials. */
  readonly identity: Identifier
  readonly connection: Connection
}

/**
 * The cluster that the client in the context talks to, where that is not the driver's own. Whoever provides another client
 * provides this beside it.
 *
 * @category references
 * @since 0.1.0
 */
export const Destination = Context.Reference<RemoteDestination | undefined>("@berth/provisioners/Destination", {
  defaultValue: () => undefined
})

/**
 * What a driver refuses because of what it is.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `chart_unsupported` | the driver cannot take charts from there | parked | have the chart elsewhere, or use another driver |
 * | `secrets_refused` | secret values, and nowhere to put them but in the open | parked | see the driver's own option |
 * | `tool_unavailable` | the tool cannot be run, or its kinds are not there | retried with backoff | install it |
 * | `wrong_cluster` | the client in the context is that of another cluster | parked | provide `Destination` beside it |
 * | `other_driver` | the release was deployed by another driver | retried every minute | have that driver back, or remove the release and its record |
 * | `connection_unportable` | the cluster's credentials need a command or a file of this machine | parked | use a token or a certificate |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("cd_driver", {
  chart_unsupported: Disposition.terminal("The {driver} driver takes no charts from a {source}."),
  secrets_refused: Disposition.terminal("The {driver} driver has nowhere to keep secret values of {release}."),
  tool_unavailable: Disposition.transient("The {driver} driver's tool is not available; trying again."),
  wrong_cluster: Disposition.terminal("The {driver} driver was made for another cluster than {release} is for."),
  other_driver: Disposition.transient(
    "{release} was deployed by the {driver} driver, which alone can change or remove it; trying again."
  ),
  connection_unportable: Disposition.terminal("The {driver} driver cannot hand on the credentials of {cluster}.")
})
