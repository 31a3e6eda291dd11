/**
 * Hands each change to every subscriber, in order. A subscriber that throws has failed alone: what it threw is handed
 * back for the log, and the others are called all the same.
 */
import { Effect, Latch, Stream } from "effect"
import type { KubeObject } from "../KubeObject.ts"
import * as KubeObjects from "../KubeObject.ts"
import type { Change } from "../Change.ts"

export type Handler<O extends KubeObject> = (change: Change<O>) => void

export interface Feed<O extends KubeObject> {
  readonly publish: (change: Change<O>) => void
  /** Tells the handler of the present first. */
  readonly add: (handler: Handler<O>, present: Iterable<Change<O>>) => () => void
  readonly fault: (thrown: unknown) => void
  /** What was thrown since the last call. */
  readonly takeFaults: () => ReadonlyArray<unknown>
}

/** Faults that wait for the log. More of them at once say nothing new. */
const faultsMax = 16

export const make = <O extends KubeObject>(): Feed<O> => {
  const handlers = new Set<{ readonly handle: Handler<O> }>()
  let faults: Array<unknown> = []

  const fault = (thrown: unknown): void => {
    if (faults.length < faultsMax) faults.push(thrown)
  }

  const tell = (handle: Handler<O>, change: Change<O>): void => {
    try {
      handle(change)
    } catch (thrown) {
      fault(thrown)
    }
  }

  const publish = (change: Change<O>): void => {
    for (const { handle } of handlers) tell(handle, change)
  }

  const add: Feed<O>["add"] = (handle, present) => {
    // An entry of its own, so that one function can subscribe twice.
    const entry = { handle }
    for (const change of present) tell(handle, change)
    handlers.add(entry)
    return () => void handlers.delete(entry)
  }

  const takeFaults = () => {
    const taken = faults
    faults = []
    return taken
  }

  return { publish, add, fault, takeFaults }
}

/** One change in place of two that follow each other, or both where an object made way for another of its name. */
const join = <O extends KubeObject>(first: Change<O>, second: Change<O>): ReadonlyArray<Change<O>> => {
  if (first._tag === "Deleted") return second._tag === "Deleted" ? [second] : [first, second]
  if (second._tag === "Deleted") return [second]
  return [
    first._tag === "Added" ? { ...second, _tag: "Added", previous: undefined } : { ...second, previous: first.previous }
  ]
}

/** What happened and was not read yet: at most two changes per object, so that a slow reader costs bounded memory. */
const backlog = <O extends KubeObject>() => {
  const pending = new Map<string, ReadonlyArray<Change<O>>>()
  const add = (change: Change<O>): void => {
    const key = KubeObjects.key(KubeObjects.ref(change.object))
    const waiting = pending.get(key) ?? []
    const last = waiting.at(-1)
    pending.set(key, last === undefined ? [change] : [...waiting.slice(0, -1), ...join(last, change)].slice(-2))
  }
  const take = (): ReadonlyArray<Change<O>> => {
    const all = [...pending.values()].flat()
    pending.clear()
    return all
  }
  return { add, take }
}

export const stream = <O extends KubeObject>(
  subscribe: (handler: Handler<O>) => () => void
): Stream.Stream<Change<O>> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { add, take } = backlog<O>()
      const some = Latch.makeUnsafe()
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          subscribe((change) => {
            add(change)
            some.openUnsafe()
          })
        ),
        (unsubscribe) => Effect.sync(unsubscribe)
      )
      const batch = Effect.map(some.await, () => {
        some.closeUnsafe()
        return take()
      })
      return Stream.flattenIterable(Stream.fromEffectRepeat(batch))
    })
  )
