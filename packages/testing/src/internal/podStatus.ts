/**
 * The status of a Pod, made from the states of its containers as the kubelet makes it.
 */
import {
  type Condition,
  type Container,
  type ContainerState,
  type ContainerStatus,
  type Pod,
  type PodPhase,
  type PodStatus,
  type Terminated,
  timestamp
} from "./workloadTypes.ts"

/** A container and what became of it so far. */
export interface Slot {
  readonly container: Container
  readonly init: boolean
  state: ContainerState
  lastState: ContainerState
  restartCount: number
}

/** Why a whole Pod ended, where its containers do not say it. */
export interface Verdict {
  readonly phase: "Failed"
  readonly reason: string
  readonly message: string
}

export const slots = (pod: Pod): ReadonlyArray<Slot> => {
  const inits = pod.spec.initContainers ?? []
  const slot = (container: Container, init: boolean, reason: string): Slot => ({
    container,
    init,
    state: { waiting: { reason } },
    lastState: {},
    restartCount: 0
  })
  const first = inits.length > 0 ? "PodInitializing" : "ContainerCreating"
  return [
    ...inits.map((container) => slot(container, true, "PodInitializing")),
    ...pod.spec.containers.map((container) => slot(container, false, first))
  ]
}

/** A container that was not seen to end, because the runner was not there or never started it. */
export const unknown = (finishedAtMs: number): Terminated => ({
  exitCode: 137,
  reason: "ContainerStatusUnknown",
  message: "The container could not be located when the Pod was terminated",
  finishedAt: timestamp(finishedAtMs)
})

const failed = ({ state }: Slot): boolean => state.terminated !== undefined && state.terminated.exitCode !== 0

/** Running from the first container that started, init containers aside, to the last one that ended. */
const phaseOf = (all: ReadonlyArray<Slot>, restarts: boolean): PodPhase => {
  const main = all.filter(({ init }) => !init)
  if (!restarts && all.some((slot) => slot.init && failed(slot))) {
    return "Failed"
  }
  if (main.every(({ state }) => state.terminated !== undefined)) {
    return main.some(failed) ? "Failed" : "Succeeded"
  }
  return main.some(({ lastState, state }) => state.waiting === undefined || lastState.terminated !== undefined)
    ? "Running"
    : "Pending"
}

const containerStatus = ({ container, init, lastState, restartCount, state }: Slot): ContainerStatus => ({
  name: container.name,
  image: container.image ?? "",
  imageID: "",
  ready: init ? state.terminated?.exitCode === 0 : state.running !== undefined,
  started: state.running !== undefined,
  restartCount,
  state,
  lastState
})

const unreadyReasons: Partial<Record<PodPhase, string>> = { Succeeded: "PodCompleted", Failed: "PodFailed" }

const conditions = (
  phase: PodPhase,
  all: ReadonlyArray<Slot>,
  before: ReadonlyArray<Condition>,
  now: string
): ReadonlyArray<Condition> => {
  const ready = all.every(({ init, state }) => init || state.running !== undefined)
  const initialized = all.every(({ init, state }) => !init || state.terminated?.exitCode === 0)
  const why = unreadyReasons[phase] ?? "ContainersNotReady"
  const make = (type: string, holds: boolean, reason: string): Condition => {
    const status = holds ? "True" : "False"
    const same = before.find((condition) => condition.type === type && condition.status === status)
    return { type, status, lastTransitionTime: same?.lastTransitionTime ?? now, ...(holds ? {} : { reason }) }
  }
  return [
    make("PodScheduled", true, ""),
    make("Initialized", initialized, "ContainersNotInitialized"),
    make("ContainersReady", ready, why),
    make("Ready", ready, why)
  ]
}

/** The status to write. `before`: the conditions that were written last. */
export const status = (options: {
  readonly pod: Pod
  readonly slots: ReadonlyArray<Slot>
  readonly startedAtMs: number
  readonly nowMs: number
  readonly before: ReadonlyArray<Condition>
  readonly verdict: Verdict | undefined
}): PodStatus & { readonly phase: PodPhase } => {
  const { before, nowMs, pod, slots, startedAtMs, verdict } = options
  const phase = verdict?.phase ?? phaseOf(slots, (pod.spec.restartPolicy ?? "Always") !== "Never")
  const inits = slots.filter(({ init }) => init)
  return {
    ...verdict,
    phase,
    startTime: timestamp(startedAtMs),
    hostIP: "127.0.0.1",
    podIP: "127.0.0.1",
    conditions: conditions(phase, slots, before, timestamp(nowMs)),
    ...(inits.length > 0 ? { initContainerStatuses: inits.map(containerStatus) } : {}),
    containerStatuses: slots.filter(({ init }) => !init).map(containerStatus)
  }
}
