/**
 * Finalizers: what keeps an object from disappearing before its owner has cleaned up.
 *
 * **Guarantees**
 * - K26: finalizers are added and removed one by one, guarded by UID. Other owners' finalizers are never lost, also under
 *   concurrent writers: each change is a JSON patch that tests what it relies on, and one that fails is made anew from a fresh read.
 *
 * @since 0.1.0
 */
import * as KubeError from "./KubeError.ts"
import { Effect, Option } from "effect"
import { Client, type Patch } from "./Client.ts"
import { type KubeObject, ref } from "./KubeObject.ts"
import type { ResourceType } from "./ResourceType.ts"

/**
 * A finalizer's name: a domain and a path, such as `berth.dev/slices`.
 *
 * @category models
 * @since 0.1.0
 */
export type Finalizer = `${string}/${string}`

/** Each failed attempt means that another writer got through; more than this many in a row is not our bad luck. */
const attemptsMax = 10

const listed = (object: KubeObject): ReadonlyArray<string> => object.metadata.finalizers ?? []
const isSame = (object: KubeObject, uid: string | undefined) => object.metadata.uid === uid
const test = (path: string, value: unknown) => ({ op: "test", path, value })

/** Where there is no list yet, no list can be tested: the version stands for it. */
const addition = (object: KubeObject, finalizer: Finalizer): Patch => {
  const { finalizers, resourceVersion, uid } = object.metadata
  const guard = test("/metadata/uid", uid)
  return {
    type: "json",
    patch:
      finalizers === undefined || finalizers.length === 0
        ? [
            guard,
            test("/metadata/resourceVersion", resourceVersion),
            { op: "add", path: "/metadata/finalizers", value: [finalizer] }
          ]
        : [
            guard,
            test("/metadata/finalizers", finalizers),
            { op: "add", path: "/metadata/finalizers/-", value: finalizer }
          ]
  }
}

const removal = (object: KubeObject, finalizer: Finalizer): Patch => {
  const path = `/metadata/finalizers/${listed(object).indexOf(finalizer)}`
  return {
    type: "json",
    patch: [test("/metadata/uid", object.metadata.uid), test(path, finalizer), { op: "remove", path }]
  }
}

/** What the API server says when a test of a patch fails, or somebody wrote in between. */
const isLost = (error: KubeError.KubeError): error is KubeError.Conflict | KubeError.Invalid =>
  error._tag === "Conflict" || error._tag === "Invalid"

const read = <O extends KubeObject>(
  type: ResourceType<O>,
  object: O
): Effect.Effect<Option.Option<O>, KubeError.KubeError, Client> =>
  Effect.gen(function* () {
    const client = yield* Client
    const fresh = yield* client.get(type, ref(object)).pipe(KubeError.orNone)
    return Option.filter(fresh, (found) => isSame(found, object.metadata.uid))
  })

/** Patches until it holds: `done` says so, of the object as it was read last, or that there is nothing to be done. */
const settle = <O extends KubeObject>(
  type: ResourceType<O>,
  object: O,
  done: (object: O) => boolean,
  change: (object: O) => Patch
): Effect.Effect<Option.Option<O>, KubeError.KubeError, Client> =>
  Effect.gen(function* () {
    const client = yield* Client
    const attempt = (current: O, left: number): Effect.Effect<Option.Option<O>, KubeError.KubeError, Client> => {
      if (done(current)) return Effect.succeedSome(current)
      return client.patch(type, ref(current), change(current)).pipe(
        KubeError.orNone,
        Effect.catchIf(
          (error) => isLost(error) && left > 1,
          () =>
            Effect.flatMap(
              read(type, object),
              Option.match({
                onNone: () => Effect.succeedNone,
                onSome: (fresh) => attempt(fresh, left - 1)
              })
            )
        )
      )
    }
    return yield* attempt(object, attemptsMax)
  })

/**
 * Adds a finalizer to this very object, unless it has it.
 *
 * **Details**: gives the object with its finalizer. None: the object is gone, or another one took its name, or it is being deleted,
 * when the API server takes no new finalizers. The object that is given may come from a cache: what it says is tested.
 *
 * **Errors**: `Conflict` or `Invalid` after ten attempts, or for a name that the API server refuses; whatever else the client fails with.
 *
 * @category writing
 * @since 0.1.0
 */
export const ensure = Effect.fn("Finalizers.ensure")(function* <O extends KubeObject>(
  type: ResourceType<O>,
  object: O,
  finalizer: Finalizer
) {
  const has = (current: O) => listed(current).includes(finalizer)
  const isDone = (current: O) => has(current) || current.metadata.deletionTimestamp !== undefined
  const settled = yield* settle(type, object, isDone, (current) => addition(current, finalizer))
  return Option.filter(settled, has)
})

/**
 * Removes a finalizer from this very object; done also when the object is gone, or another one took its name.
 *
 * **Details**: an object that does not list the finalizer is read anew first, since a cache may be older than the finalizer.
 *
 * **Errors**: `Conflict` or `Invalid` after ten attempts; whatever else the client fails with.
 *
 * @category writing
 * @since 0.1.0
 */
export const remove = Effect.fn("Finalizers.remove")(function* <O extends KubeObject>(
  type: ResourceType<O>,
  object: O,
  finalizer: Finalizer
) {
  const lacks = (current: O) => !listed(current).includes(finalizer)
  const current = lacks(object) ? yield* read(type, object) : Option.some(object)
  if (Option.isSome(current)) {
    yield* settle(type, current.value, lacks, (each) => removal(each, finalizer))
  }
})

/**
 * What is done about an object, depending on whether it is being deleted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Steps<in O, out A, out E, out R, out ED, out RD> {
  /** Brings about what belongs to the object, which has the finalizer by then. */
  readonly provision: (object: O) => Effect.Effect<A, E, R>
  /** Takes it away. True once nothing is left: then the object may go. */
  readonly deprovision: (object: O) => Effect.Effect<boolean, ED, RD>
}

/**
 * Holds an object by a finalizer for as long as something belongs to it.
 *
 * **Details**: nothing is provisioned before the finalizer is there, and the finalizer stays until `deprovision` says true. Gives what
 * `provision` gave; None where the object is being deleted, or gone.
 *
 * **Errors**: those of the steps, of {@link ensure} and of {@link remove}.
 *
 * **Example** (A directory elsewhere for each ConfigMap)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Finalizers from "@berth/kube/Finalizers"
 * import { Effect } from "effect"
 *
 * export const reconcile = (object: Builtin.ConfigMap) =>
 *   Finalizers.manage(Builtin.ConfigMap, object, "example.com/directory", {
 *     provision: ({ metadata }) => Effect.log(`make ${metadata.name}`),
 *     deprovision: ({ metadata }) => Effect.as(Effect.log(`remove ${metadata.name}`), true)
 *   })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const manage = Effect.fn("Finalizers.manage")(function* <O extends KubeObject, A, E, R, ED, RD>(
  type: ResourceType<O>,
  object: O,
  finalizer: Finalizer,
  { deprovision, provision }: Steps<O, A, E, R, ED, RD>
) {
  if (object.metadata.deletionTimestamp !== undefined) {
    // Finalizers do not come any more: what is not listed was never there, or is done.
    const held = listed(object).includes(finalizer)
    if (held && (yield* deprovision(object))) yield* remove(type, object, finalizer)
    return Option.none<A>()
  }
  const held = yield* ensure(type, object, finalizer)
  return Option.isNone(held) ? Option.none<A>() : Option.some(yield* provision(held.value))
})
