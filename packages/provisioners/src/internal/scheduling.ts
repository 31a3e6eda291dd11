/** Parts of what is said about where Pods run: what each is about, and how they become one. */

type Labels = Readonly<Record<string, string>>

/**
 * A taint that is tolerated, as in a Pod.
 *
 * **Details**: its subject is all of it but `tolerationSeconds`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Toleration {
  /** Left out, with `Exists`: every taint. */
  readonly key?: string
  /** Default `Equal`. */
  readonly operator?: "Exists" | "Equal"
  readonly value?: string
  /** Left out: every effect. */
  readonly effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute"
  /** Seconds for which `NoExecute` is tolerated. Default: for ever. */
  readonly tolerationSeconds?: number
}

/**
 * What a node's labels must say, as in a node affinity.
 *
 * @category models
 * @since 0.1.0
 */
export interface NodeRequirement {
  readonly key: string
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt"
  readonly values?: ReadonlyArray<string>
}

/**
 * Pods to be near to, or far from. Its subject is both fields.
 *
 * @category models
 * @since 0.1.0
 */
export interface PodGroup {
  /** The label that nodes of one place share, such as `topology.kubernetes.io/zone`. */
  readonly topologyKey: string
  readonly matchLabels: Labels
}

/**
 * How evenly Pods are spread. Its subject is `topologyKey` and `whenUnsatisfiable`, of which a Pod has each pair once.
 *
 * @category models
 * @since 0.1.0
 */
export interface Spread extends PodGroup {
  /** By how many Pods places may differ. Default 1. */
  readonly maxSkew?: number
  /** Default `ScheduleAnyway`. */
  readonly whenUnsatisfiable?: "DoNotSchedule" | "ScheduleAnyway"
  /** How many places there are to be at least; only with `DoNotSchedule`. */
  readonly minDomains?: number
}

export type Part =
  | { readonly _tag: "NodeSelector"; readonly label: string; readonly value: string | undefined }
  | { readonly _tag: "Toleration"; readonly toleration: Toleration }
  | { readonly _tag: "RequiredNodes"; readonly requirement: NodeRequirement }
  | { readonly _tag: "PreferredNodes"; readonly requirements: ReadonlyArray<NodeRequirement>; readonly weight: number }
  | { readonly _tag: "Near" | "Far"; readonly group: PodGroup; readonly weight: number | "required" }
  | { readonly _tag: "Spread"; readonly spread: Spread }
  | { readonly _tag: "PriorityClass"; readonly name: string }
  | {
      readonly _tag: "Request" | "Limit"
      readonly resource: string
      readonly quantity: string | undefined
    }
export type Tag = Part["_tag"]

const TypeId: unique symbol = Symbol("@berth/provisioners/Scheduling")

/**
 * A fragment, or several that were merged.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scheduling {
  readonly [TypeId]: typeof TypeId
  /** By tag and subject. */
  readonly parts: Readonly<Record<string, Part>>
}

/** Of two parts about the same subject the later wins. */
export const merge = (...all: ReadonlyArray<Scheduling>): Scheduling =>
  of(Object.assign({}, ...all.map(({ parts }) => parts)))

const of = (parts: Readonly<Record<string, Part>>): Scheduling => ({ [TypeId]: TypeId, parts })

/** Entries in an order that does not depend on who wrote them. */
export const ordered = (record: Readonly<Record<string, unknown>>) =>
  Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))

/** What a part is about, as text. */
const subjectOf = (part: Part): unknown => {
  switch (part._tag) {
    case "NodeSelector":
      return part.label
    case "Toleration": {
      const { effect, key, operator, value } = part.toleration
      return [key, operator ?? "Equal", value, effect]
    }
    case "RequiredNodes":
      return [part.requirement.key, part.requirement.operator]
    case "PreferredNodes":
      return part.requirements.map(({ key, operator, values }) => JSON.stringify([key, operator, values])).toSorted()
    case "Near":
    case "Far":
      return [part.group.topologyKey, ordered(part.group.matchLabels)]
    case "Spread":
      return [part.spread.topologyKey, part.spread.whenUnsatisfiable ?? "ScheduleAnyway"]
    case "PriorityClass":
      return ""
    case "Request":
    case "Limit":
      return part.resource
  }
}

export const fragment = (parts: ReadonlyArray<Part>): Scheduling =>
  of(Object.fromEntries(parts.map((part) => [`${part._tag} ${JSON.stringify(subjectOf(part))}`, part])))
