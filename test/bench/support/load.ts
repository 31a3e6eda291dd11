/** What the benchmarks do to the cluster: many objects, many changes, and who answers them when. */
import { Client } from "@berth/kube/Client"
import type { KubeError } from "@berth/kube/KubeError"
import type { Draft, KubeObject } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Data, Deferred, Effect, Fiber, Scope, Stream } from "effect"
import { Widget } from "../programs/widget.ts"

/** Some objects never got their status. */
export class NotConverged extends Data.TaggedError("NotConverged")<{ readonly left: number }> {
  override get message() {
    return `${this.left} objects did not get their status in time`
  }
}

export const namespace = "default"

const patience = "3 minutes"

const indices = (count: number) => Array.from({ length: count }, (_, index) => index)

export const nameOf = (index: number): string => `bench-${String(index).padStart(6, "0")}`

/** Creates so many objects, 32 at a time. */
export const fill = <O extends KubeObject>(type: ResourceType<O>, count: number, draft: (index: number) => Draft<O>) =>
  Client.use((client) =>
    Effect.forEach(indices(count), (index) => client.create(type, draft(index)), { concurrency: 32, discard: true })
  )

export const widget = (index: number): Draft<Widget> => ({
  metadata: { name: nameOf(index), namespace },
  spec: { value: index }
})

/** Widgets as they are after their controller has seen them. */
export const settled = (count: number) =>
  Effect.andThen(
    fill(Widget, count, widget),
    Client.use((client) =>
      Effect.forEach(
        indices(count),
        (index) => {
          const message = `value is ${index}`
          const lastTransitionTime = "2026-01-01T00:00:00Z"
          const about = { type: "Ready", status: "True", reason: "Reconciled", observedGeneration: 1 }
          const status = { observedGeneration: 1, conditions: [{ ...about, message, lastTransitionTime }] }
          return client.patch(
            Widget,
            { name: nameOf(index), namespace },
            { type: "merge", patch: { status } },
            { subresource: "status" }
          )
        },
        { concurrency: 32, discard: true }
      )
    )
  )

/** Deletes all of a kind, one by one, since a deletion of the collection answers only when it is done. */
export const clear = (type: ResourceType) =>
  Client.use((client) =>
    Effect.flatMap(client.list(type, { namespace, metadataOnly: true }), ({ items }) =>
      Effect.forEach(items, ({ metadata }) => client.delete(type, { name: metadata.name, namespace }), {
        concurrency: 32,
        discard: true
      })
    )
  )

/** When each Widget's status answered the newest state of its spec, as one watch saw it. */
const answers = (wanted: ReadonlyMap<string, number>, resourceVersion: string) =>
  Effect.gen(function* () {
    const client = yield* Client
    const done = yield* Deferred.make<void>()
    const answeredMs = new Map<string, number>()
    const follow = Stream.runForEach(client.watch(Widget, { namespace, resourceVersion }), (event) =>
      Effect.sync(() => {
        if (event._tag !== "Added" && event._tag !== "Modified") return
        const { metadata, status } = event.object
        const generation = wanted.get(metadata.name)
        if (generation === undefined || answeredMs.has(metadata.name)) return
        if ((status?.observedGeneration ?? 0) < generation) return
        answeredMs.set(metadata.name, performance.now())
        if (answeredMs.size === wanted.size) Deferred.doneUnsafe(done, Effect.void)
      })
    )
    const fiber = yield* Effect.forkScoped(Effect.andThen(follow, Effect.never))
    const all = Effect.raceFirst(Deferred.await(done), Fiber.join(fiber)).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.fail(new NotConverged({ left: wanted.size - answeredMs.size }))
      })
    )
    return { answeredMs, all }
  })

/** Lets the operator begin, and waits until every Widget has its status. Objects per second, from the first to the last. */
export const converge = Effect.fnUntraced(function* <A, E, R>(start: Effect.Effect<A, E, R>) {
  // The operator outlives the watch.
  const scope = yield* Effect.scope
  return yield* Effect.gen(function* () {
    const client = yield* Client
    const { items, resourceVersion } = yield* client.list(Widget, { namespace })
    const { all, answeredMs } = yield* answers(
      new Map(items.map(({ metadata }) => [metadata.name, metadata.generation ?? 1])),
      resourceVersion
    )
    const started = yield* Effect.provideService(start, Scope.Scope, scope)
    yield* all
    const times = [...answeredMs.values()].sort((a, b) => a - b)
    const [first = 0] = times
    const last = times.at(-1) ?? 0
    return { started, perSecond: ((times.length - 1) * 1000) / (last - first) }
  }).pipe(Effect.scoped)
})

/** Changes the specs of the first `count` Widgets, so many a second: milliseconds from the answer to the change to its status. */
export const change = (
  count: number,
  perSecond: number
): Effect.Effect<ReadonlyArray<number>, KubeError | NotConverged, Client> =>
  Effect.gen(function* () {
    const client = yield* Client
    const { items, resourceVersion } = yield* client.list(Widget, { namespace })
    const chosen = items.slice(0, count)
    const wanted = new Map(chosen.map(({ metadata }) => [metadata.name, (metadata.generation ?? 1) + 1]))
    const { all, answeredMs } = yield* answers(wanted, resourceVersion)
    const changedMs = new Map<string, number>()
    const startMs = performance.now()
    const one = Effect.fnUntraced(function* ({ metadata, spec }: Widget, index: number) {
      yield* Effect.sleep(Math.max(0, startMs + (index * 1000) / perSecond - performance.now()))
      const patch = { spec: { value: spec.value + 1_000_000 } }
      yield* client.patch(Widget, { name: metadata.name, namespace }, { type: "merge", patch })
      changedMs.set(metadata.name, performance.now())
    })
    yield* Effect.forEach(chosen, one, { concurrency: 32, discard: true })
    yield* all
    return [...answeredMs].map(([name, atMs]) => atMs - (changedMs.get(name) ?? atMs))
  }).pipe(Effect.scoped)
