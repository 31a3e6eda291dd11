/** What an environment's status says beside its conditions. */
import * as Conditions from "@berth/kube/Conditions"
import type * as Kind from "@berth/kube/Kind"
import type * as Manager from "@berth/provisioners/Manager"
import { Clock, DateTime, Effect, Option } from "effect"
import type { Environment } from "../../Environment.ts"
import { EnvironmentTemplate } from "../../EnvironmentTemplate.ts"
import * as Names from "../../Names.ts"
import { phaseOf, type RawSlice, Records } from "../../Records.ts"
import { urlOf } from "./blueprint.ts"
import { isLate, waitingReasons } from "./lateness.ts"

type Raw = Kind.Raw<typeof Environment>
type Fields = Manager.OwnStatus<Raw>
type ComponentStatus = NonNullable<NonNullable<Raw["status"]>["components"]>[number]
type Entry = Manager.Outcome["progress"][number]

const time = (at: DateTime.Utc): string => DateTime.formatIso(at).replace(/\.\d+Z$/u, "Z")

/** When the environment has lived long enough; what it said before where its template is gone. */
const expiryOf = ({ metadata, spec, status }: Environment, template: EnvironmentTemplate | undefined) => {
  const ttl = spec.ttl ?? template?.spec.ttl
  const created = metadata.creationTimestamp
  if (ttl !== undefined && created !== undefined) return time(DateTime.addDuration(created, ttl))
  const before = status?.expiresAt
  return template === undefined && before !== undefined ? time(before) : undefined
}

const phaseOfEntry = (entry: Entry | undefined): ComponentStatus["phase"] => {
  if (entry === undefined || entry.state === "Pending" || entry.state === "Running") return "Waiting"
  if (entry.state === "Ready") return "Ready"
  const { reason } = entry.failure ?? {}
  if (reason !== undefined && waitingReasons.has(reason)) return "Waiting"
  return entry.state === "Terminal" || entry.state === "UserActionRequired" || reason === refused
    ? "Failed"
    : "Deploying"
}

/** A chart's objects that its account may not make: tried again, in case somebody gives it the right. */
const refused = "not_allowed"

const messageMax = 1024

/** Why a slice is not there yet is best said by its own record. */
const wordsOf = (entry: Entry | undefined, record: RawSlice | undefined) => {
  const condition = Conditions.get(record?.status?.conditions, "Ready")
  const said = condition?.status === "False" ? condition : entry?.failure
  if (said === undefined) return { reason: "waiting", message: "Waiting for what it needs." }
  return { reason: said.reason, message: [...said.message].slice(0, messageMax).join("") }
}

const componentOf = (
  name: string,
  entry: Entry | undefined,
  late: boolean,
  record: RawSlice | undefined
): ComponentStatus => {
  const phase = late ? "Failed" : phaseOfEntry(entry)
  if (phase === "Ready") return { name, phase }
  const position = record !== undefined && phaseOf(record) === "Waiting" ? record.status?.position : undefined
  return { name, phase, ...wordsOf(entry, record), ...(position === undefined ? {} : { position }) }
}

const phaseOfAll = (
  { failure, phase }: Manager.Outcome,
  components: ReadonlyArray<ComponentStatus>
): NonNullable<Fields["phase"]> => {
  if (phase === "deprovision") return "Terminating"
  if (failure === undefined) return "Ready"
  const parked = failure.disposition === "Terminal" || failure.disposition === "UserActionRequired"
  if (parked || components.some((component) => component.phase === "Failed")) return "Failed"
  return waitingReasons.has(failure.reason) ? "Pending" : "Deploying"
}

/** As they were last, where this pass did not come so far as to look at them. */
const remembered = ({ status }: Environment, { phase }: Manager.Outcome): ReadonlyArray<ComponentStatus> =>
  (status?.components ?? []).map((component) => (phase === "deprovision" ? gone(component.name) : { ...component }))

const gone = (name: string): ComponentStatus => ({ name, phase: "Terminating" })

export const make = Effect.fn("Environments.status")(function* (
  environment: Environment,
  outcome: Manager.Outcome,
  componentsPath: string
): Effect.fn.Return<Fields, never, Records> {
  const { metadata, spec } = environment
  const records = yield* Records
  const raw = yield* records.template(spec.templateRef.name)
  const template = Option.isNone(raw)
    ? undefined
    : Option.getOrUndefined(yield* Effect.option(EnvironmentTemplate.decode(raw.value)))
  const nowMs = yield* Clock.currentTimeMillis
  const slices = yield* records.slicesOfConsumer(metadata.uid)
  const entries = new Map(outcome.progress.map((entry) => [entry.path, entry]))
  const planned = [...entries.keys()].some((path) => path.startsWith(componentsPath))
  const components =
    planned && template !== undefined
      ? template.spec.components.map(({ name, sharedComponentRef }) => {
          const record = sharedComponentRef && recordFor(slices, name, sharedComponentRef.name)
          const entry = entries.get(componentsPath + name)
          return componentOf(name, entry, isLate(template.spec, name, entry, nowMs), record)
        })
      : remembered(environment, outcome)
  return {
    phase: phaseOfAll(outcome, components),
    namespace: Names.namespace(metadata),
    url: template === undefined ? environment.status?.url : urlOf(metadata.name, template.spec),
    expiresAt: expiryOf(environment, template),
    components
  }
})

const recordFor = (slices: ReadonlyArray<RawSlice>, component: string, shared: string): RawSlice | undefined =>
  slices.find(
    ({ metadata, spec }) =>
      metadata.deletionTimestamp === undefined &&
      spec.consumer.component === component &&
      spec.sharedComponent.name === shared
  )
