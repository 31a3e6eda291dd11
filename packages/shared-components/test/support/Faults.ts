/** A client that counts the writes of a process, and at one of them dies with it or loses the answer. */
import type { Client } from "@berth/kube/Client"
import * as KubeError from "@berth/kube/KubeError"
import { Effect } from "effect"

export interface Fault {
  /** At which writes, counted from 1. */
  readonly at: (write: number) => boolean
  /** Before it reaches the cluster, or after it took effect. */
  readonly when: "before" | "after"
  /** The process ends there, or lives on without an answer. */
  readonly outcome: "dies" | "times out"
}

export interface Faults {
  readonly client: Client["Service"]
  /** What was written so far, in words. */
  readonly writes: ReadonlyArray<string>
  /** The same for what was read. */
  readonly reads: ReadonlyArray<string>
  /** Whether the process has died: from then on every request is a defect, and has no effect. */
  readonly isDead: () => boolean
}

const death = Effect.die(new Error("the process is dead"))

const lost = (about: KubeError.Request) => new KubeError.Timeout({ ...about, deadlineMs: 30_000 })

export const make = (
  client: Client["Service"],
  fault?: Fault,
  /** After each write that took effect. */
  look: (about: KubeError.Request) => Effect.Effect<void> = () => Effect.void
): Faults => {
  const writes: Array<string> = []
  const reads: Array<string> = []
  let isDead = false

  const end = (about: KubeError.Request): Effect.Effect<never, KubeError.KubeError> => {
    if (fault?.outcome === "times out") return Effect.fail(lost(about))
    isDead = true
    return death
  }

  const living = <A>(read: string, request: Effect.Effect<A, KubeError.KubeError>) =>
    Effect.suspend((): Effect.Effect<A, KubeError.KubeError> => {
      reads.push(read)
      return isDead ? death : request
    })

  const counted = <A>(about: KubeError.Request, write: Effect.Effect<A, KubeError.KubeError>) =>
    Effect.suspend((): Effect.Effect<A, KubeError.KubeError> => {
      if (isDead) return death
      writes.push(`${about.verb} ${about.resource} ${about.name ?? ""}`)
      const isHit = fault?.at(writes.length) === true
      if (isHit && fault.when === "before") return end(about)
      return Effect.tap(write, () => (isHit ? Effect.andThen(look(about), end(about)) : look(about)))
    })

  const about = (verb: string, type: { readonly plural: string }, ref: { readonly name: string }) => ({
    verb,
    resource: type.plural,
    namespace: undefined,
    name: ref.name
  })

  return {
    writes,
    reads,
    isDead: () => isDead,
    client: {
      ...client,
      get: (type, ref, options) => living(`get ${type.plural} ${ref.name}`, client.get(type, ref, options)),
      list: (type, options) => living(`list ${type.plural}`, client.list(type, options)),
      create: (type, object, options) =>
        counted(about("create", type, { name: object.metadata.name ?? "" }), client.create(type, object, options)),
      update: (type, object, options) =>
        counted(about("update", type, object.metadata), client.update(type, object, options)),
      patch: (type, ref, patch, options) => counted(about("patch", type, ref), client.patch(type, ref, patch, options)),
      apply: (type, object, options) =>
        counted(about("apply", type, { name: object.metadata.name ?? "" }), client.apply(type, object, options)),
      delete: (type, ref, options) => counted(about("delete", type, ref), client.delete(type, ref, options))
    }
  }
}
