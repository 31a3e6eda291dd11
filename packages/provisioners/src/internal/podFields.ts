/** What parts come to in a Pod: each list sorted by subject, what nobody said left out. */
import type * as Builtin from "@berth/kube/Builtin"
import {
  type NodeRequirement,
  ordered,
  type Part,
  type PodGroup,
  type Scheduling,
  type Spread,
  type Tag
} from "./scheduling.ts"

type PodSpec = NonNullable<Builtin.Pod["spec"]>
type Container = PodSpec["containers"][number]

/**
 * The fields of a Pod's spec that say where it runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface PodFields extends Pick<
  PodSpec,
  "affinity" | "nodeSelector" | "priorityClassName" | "tolerations" | "topologySpreadConstraints"
> {}

/**
 * The fields of a container that say what it gets.
 *
 * @category models
 * @since 0.1.0
 */
export interface ContainerFields extends Pick<Container, "resources"> {}

/** Of one tag, by subject. */
const partsOf = <T extends Tag>({ parts }: Scheduling, tag: T): ReadonlyArray<Extract<Part, { readonly _tag: T }>> =>
  ordered(parts).flatMap(([key]) => {
    const part = parts[key]
    return part !== undefined && isOf(part, tag) ? [part] : []
  })

const isOf = <T extends Tag>(part: Part, tag: T): part is Extract<Part, { readonly _tag: T }> => part._tag === tag

const filled = <K extends string, A>(name: K, list: ReadonlyArray<A>): { readonly [P in K]?: Array<A> } => {
  const fields: { [P in K]?: Array<A> } = {}
  if (list.length > 0) fields[name] = [...list]
  return fields
}

const record = (entries: ReadonlyArray<readonly [string, string | undefined]>): Record<string, string> | undefined => {
  const said = entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]))
  return said.length === 0 ? undefined : Object.fromEntries(said)
}

const expression = ({ key, operator, values }: NodeRequirement) => ({
  key,
  operator,
  ...(values === undefined ? {} : { values: [...values] })
})

const nodeAffinity = (scheduling: Scheduling) => {
  const required = partsOf(scheduling, "RequiredNodes").map(({ requirement }) => expression(requirement))
  const preferred = partsOf(scheduling, "PreferredNodes").map(({ requirements, weight }) => ({
    weight,
    preference: { matchExpressions: requirements.map(expression) }
  }))
  return {
    ...(required.length > 0 && {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: required }] }
    }),
    ...filled("preferredDuringSchedulingIgnoredDuringExecution", preferred)
  }
}

const selected = ({ matchLabels, topologyKey }: PodGroup) => ({
  topologyKey,
  labelSelector: { matchLabels: { ...matchLabels } }
})

const podTerms = (scheduling: Scheduling, tag: "Near" | "Far") => {
  const all = partsOf(scheduling, tag)
  const required = all.filter(({ weight }) => weight === "required").map(({ group }) => selected(group))
  const preferred = all.flatMap(({ group, weight }) =>
    weight === "required" ? [] : [{ weight, podAffinityTerm: selected(group) }]
  )
  return {
    ...filled("requiredDuringSchedulingIgnoredDuringExecution", required),
    ...filled("preferredDuringSchedulingIgnoredDuringExecution", preferred)
  }
}

const isFilled = (fields: object): boolean => Object.keys(fields).length > 0

const affinity = (scheduling: Scheduling): NonNullable<PodSpec["affinity"]> => {
  const node = nodeAffinity(scheduling)
  const [near, far] = [podTerms(scheduling, "Near"), podTerms(scheduling, "Far")]
  return {
    ...(isFilled(node) && { nodeAffinity: node }),
    ...(isFilled(near) && { podAffinity: near }),
    ...(isFilled(far) && { podAntiAffinity: far })
  }
}

const constraint = ({ maxSkew = 1, minDomains, whenUnsatisfiable = "ScheduleAnyway", ...group }: Spread) => ({
  ...selected(group),
  maxSkew,
  whenUnsatisfiable,
  ...(minDomains === undefined ? {} : { minDomains })
})

export const podSpec = (scheduling: Scheduling): PodFields => {
  const selector = record(partsOf(scheduling, "NodeSelector").map(({ label, value }) => [label, value]))
  const affinities = affinity(scheduling)
  const [priority] = partsOf(scheduling, "PriorityClass")
  return {
    ...(selector !== undefined && { nodeSelector: selector }),
    ...filled(
      "tolerations",
      partsOf(scheduling, "Toleration").map(({ toleration }) => toleration)
    ),
    ...(isFilled(affinities) && { affinity: affinities }),
    ...filled(
      "topologySpreadConstraints",
      partsOf(scheduling, "Spread").map(({ spread }) => constraint(spread))
    ),
    ...(priority !== undefined && { priorityClassName: priority.name })
  }
}

export const container = (scheduling: Scheduling): ContainerFields => {
  const quantities = (tag: "Request" | "Limit") =>
    record(partsOf(scheduling, tag).map(({ quantity, resource }) => [resource, quantity]))
  const [requests, limits] = [quantities("Request"), quantities("Limit")]
  const both = { ...(requests !== undefined && { requests }), ...(limits !== undefined && { limits }) }
  return isFilled(both) ? { resources: both } : {}
}
