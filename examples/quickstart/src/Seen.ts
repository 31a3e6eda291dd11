/** Looks at the cluster while the operator works: tells what changes, and waits for what should come. */
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import * as Conditions from "@berth/kube/Conditions"
import type * as Kind from "@berth/kube/Kind"
import { Environment } from "@berth/shared-components/Environment"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { Slice } from "@berth/shared-components/Slice"
import { Data, Effect, Option, Stream } from "effect"
import { managementNamespace } from "./Stage.ts"
import { Timeline } from "./Timeline.ts"

type RawEnvironment = Kind.Raw<typeof Environment>

const namespaces = [managementNamespace]
const environments = Cache.define(Environment, { namespaces })
const slices = Cache.define(Slice, { namespaces })
const sharedComponents = Cache.define(SharedComponent, { namespaces })

const limitSeconds = 60

export class TookTooLong extends Data.TaggedError("TookTooLong")<{ readonly what: string; readonly last: string }> {
  override get message() {
    return `Waited ${limitSeconds} seconds for ${this.what}. What was seen last: ${this.last}`
  }
}

const sentence = (environment: RawEnvironment): string => {
  const ready = Conditions.get(environment.status?.conditions, "Ready")
  return `${environment.metadata.name} is ${environment.status?.phase ?? "new"}${ready?.message ? `: ${ready.message}` : ""}`
}

/** Waits until the environment, or its absence, is as it should be. */
export const environment = Effect.fn("Seen.environment")(function* (
  name: string,
  what: string,
  reached: (environment: Option.Option<RawEnvironment>) => boolean
) {
  const cache = yield* Caches.open(environments)
  yield* cache.synced
  let last = "nothing"
  const look = Effect.map(cache.get({ name, namespace: managementNamespace }), (found) => {
    last = Option.match(found, { onNone: () => `there is no ${name}`, onSome: sentence })
    return reached(found)
  })
  // The stream begins with what is there, so that nothing is missed between a look and the next change.
  const changed = Stream.map(cache.changes, () => undefined)
  yield* Stream.concat(Stream.make(undefined), changed).pipe(
    Stream.mapEffect(() => look),
    Stream.takeUntil((yes) => yes),
    Stream.runDrain,
    Effect.timeoutOrElse({
      duration: `${limitSeconds} seconds`,
      orElse: () => Effect.suspend(() => Effect.fail(new TookTooLong({ what, last })))
    })
  )
})

export const isReady = (found: Option.Option<RawEnvironment>): boolean =>
  Option.exists(found, ({ status }) => Conditions.isTrue(status?.conditions, "Ready"))

/** The place in the line that the environment shows. */
export const positionOf = (environment: RawEnvironment): number | undefined =>
  environment.status?.components?.find(({ position }) => position !== undefined)?.position

/** Whether a component of the environment is served, and everything else is. */
export const hasComponent =
  (name: string) =>
  (found: Option.Option<RawEnvironment>): boolean =>
    isReady(found) &&
    Option.exists(
      found,
      ({ status }) => status?.components?.some((each) => each.name === name && each.phase === "Ready") === true
    )

/** What the shared component says of itself. */
export const consumers = Effect.gen(function* () {
  const cache = yield* Caches.open(sharedComponents)
  const found = yield* cache.get({ name: "postgres", namespace: managementNamespace })
  return Option.match(found, { onNone: () => 0, onSome: ({ status }) => status?.consumers ?? 0 })
})

/** Tells of each change of a phase, for as long as the scope is open. */
export const narrate = Effect.fn("Seen.narrate")(function* () {
  const timeline = yield* Timeline
  const told = new Map<string, string>()
  const tell = (subject: string, state: string | undefined) =>
    Effect.suspend(() => {
      if (state === undefined || told.get(subject) === state) return Effect.void
      told.set(subject, state)
      return timeline.change(subject, state)
    })
  const watchedEnvironments = yield* Caches.open(environments)
  const watchedSlices = yield* Caches.open(slices)
  yield* Effect.forkScoped(
    Stream.runForEach(watchedEnvironments.changes, ({ _tag, object }) =>
      tell(`environment ${object.metadata.name}`, _tag === "Deleted" ? "gone" : object.status?.phase)
    )
  )
  yield* Effect.forkScoped(
    Stream.runForEach(watchedSlices.changes, ({ _tag, object }) => {
      const { phase, position } = object.status ?? {}
      const state = position === undefined ? phase : `number ${position} in line`
      const { component, name } = object.spec.consumer
      return tell(`${component === "db" ? "slice" : component} of ${name}`, _tag === "Deleted" ? "gone" : state)
    })
  )
})
