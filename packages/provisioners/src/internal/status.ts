/** What a pass makes of an object's status: conditions by kstatus, and one patch of what changed. */
import * as Client from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as KubeError from "@berth/kube/KubeError"
import * as KubeObject from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { DateTime, Effect, Option, Schema } from "effect"
import type { Bookkeeping } from "./bookkeeping.ts"
import { difference, type JsonObject } from "./json.ts"

/** As it stands in status. */
export type Condition = typeof Conditions.Condition.Encoded

/** The part of a status that a manager writes. */
export interface ManagedStatus {
  readonly conditions?: ReadonlyArray<Condition>
  readonly observedGeneration?: number
  readonly provisioning?: Bookkeeping
}

export interface ManagedObject extends KubeObject.KubeObject {
  readonly status?: ManagedStatus
}

/** Where an object is, as kstatus tells it: `Reconciling` and `Stalled` exist only while they are true. */
export interface Standing {
  readonly ready: "True" | "False" | "Unknown"
  /** What is not ready may be of use all the same. */
  readonly available: "True" | "False" | "Unknown"
  readonly doing: "nothing" | "reconciling" | "stalled"
  readonly reason: string
  readonly message: string
}

export const provisioned: Standing = {
  ready: "True",
  available: "True",
  doing: "nothing",
  reason: "provisioned",
  message: "Everything is provisioned."
}

export const begun: Standing = {
  ready: "Unknown",
  available: "Unknown",
  doing: "reconciling",
  reason: "provisioning",
  message: "Provisioning has begun."
}

type List = ReadonlyArray<Condition>
type Change = (list: ReadonlyArray<Conditions.Condition>) => ReadonlyArray<Conditions.Condition>

export interface At {
  readonly generation: number
  readonly nowMs: number
}

const decode = Schema.decodeOption(Conditions.Condition)

/** Whole seconds, as Kubernetes writes its own times. */
const encode = ({ lastTransitionTime, ...condition }: Conditions.Condition): Condition => ({
  ...condition,
  lastTransitionTime: DateTime.formatIso(lastTransitionTime).replace(".000Z", "Z")
})

/** Changes the list as decoded. What the change leaves alone stays as it was written, also what nobody can read. */
const changed = (raw: List, change: Change): List => {
  const known = raw.map((condition) => [condition, Option.getOrUndefined(decode(condition))] as const)
  const written = new Map(
    known.flatMap(([condition, read]) => (read === undefined ? [] : [[read, condition] as const]))
  )
  const unreadable = known.flatMap(([condition, read]) => (read === undefined ? [condition] : []))
  return [...change([...written.keys()]).map((each) => written.get(each) ?? encode(each)), ...unreadable]
}

const set =
  (input: Conditions.Input, { generation, nowMs }: At): Change =>
  (list) =>
    Conditions.set(list, input, { generation, now: DateTime.makeUnsafe(nowMs) })

const remove =
  (type: string): Change =>
  (list) =>
    Conditions.remove(list, type)

export const conditions = (list: List, { available, doing, message, ready, reason }: Standing, at: At): List => {
  const say = (type: string, status: Standing["ready"]) => set({ type, status, reason, message }, at)
  const whether = (type: string, holds: boolean) => (holds ? say(type, "True") : remove(type))
  const steps = [
    say("Ready", ready),
    whether("Reconciling", doing === "reconciling"),
    whether("Stalled", doing === "stalled"),
    say("Available", available)
  ]
  return changed(list, (before) => steps.reduce((sofar, step) => step(sofar), before))
}

const pausedType = "Paused"

export const paused = (list: List, annotation: string, at: At): List =>
  changed(
    list,
    set({ type: pausedType, status: "True", reason: "paused", message: `The annotation ${annotation} is set.` }, at)
  )

export const isPaused = (list: List | undefined): boolean => Conditions.get(list, pausedType) !== undefined

export const resumed = (list: List): List => changed(list, remove(pausedType))

const attemptsMax = 5

/**
 * Writes what changed of the status, and nothing if nothing did. Guarded by the version that was read, so that the
 * conditions and fields of other writers are kept: who loses reads again, and gives up if it is another object or another
 * generation by now, since then the next pass has more to say. True if something was written.
 */
export const write = Effect.fnUntraced(function* <O extends ManagedObject>(
  type: ResourceType<O>,
  object: O,
  change: (status: ManagedStatus) => ManagedStatus
): Effect.fn.Return<boolean, KubeError.KubeError, Client.Client> {
  const client = yield* Client.Client
  let base: O | undefined = object
  for (let attempt = 1; base !== undefined; attempt++) {
    const changes = difference(base.status, { ...change(base.status ?? {}) })
    if (changes === undefined) return false
    const tried: Attempted<O> = yield* attempted(client, type, base, changes, attempt)
    if (tried.written) return true
    base = tried.again
  }
  return false
})

interface Attempted<O> {
  readonly written: boolean
  /** What to try again with, unless that is no longer worth it. */
  readonly again: O | undefined
}

const attempted = <O extends ManagedObject>(
  client: Client.Client["Service"],
  type: ResourceType<O>,
  base: O,
  status: JsonObject,
  attempt: number
): Effect.Effect<Attempted<O>, KubeError.KubeError> =>
  client
    .patch(
      type,
      KubeObject.ref(base),
      { type: "merge", patch: { metadata: { resourceVersion: base.metadata.resourceVersion }, status } },
      { subresource: "status" }
    )
    .pipe(
      Effect.as({ written: true, again: undefined }),
      Effect.catchTag("NotFound", () => Effect.succeed({ written: false, again: undefined })),
      Effect.catchTag("Conflict", (conflict) =>
        attempt < attemptsMax
          ? Effect.map(sameAgain(client, type, base), (again) => ({ written: false, again }))
          : Effect.fail(conflict)
      )
    )

const sameAgain = <O extends ManagedObject>(client: Client.Client["Service"], type: ResourceType<O>, before: O) =>
  client.get(type, KubeObject.ref(before)).pipe(
    Effect.map((now) =>
      now.metadata.uid === before.metadata.uid && now.metadata.generation === before.metadata.generation
        ? now
        : undefined
    ),
    Effect.catchTag("NotFound", () => Effect.undefined)
  )
