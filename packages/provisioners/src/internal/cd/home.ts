/** The driver's own cluster: whether the client in the context is of it, and what the driver writes there. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import type { Draft, KubeObject, Ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Effect, Option } from "effect"
import * as CdDriver from "../../CdDriver.ts"
import type { Identifier } from "../../Identifier.ts"
import { holds } from "../applied.ts"
import * as Inputs from "../inputs.ts"

type Service = Client.Client["Service"]

export interface Home {
  readonly driver: Identifier
  readonly client: Service
  /** Clients that were found to be of this cluster. */
  readonly proven: WeakSet<Service>
}

export const make = (driver: Identifier, client: Service): Home => ({ driver, client, proven: new WeakSet([client]) })

const uidOf = (client: Service) =>
  Effect.map(client.get(Builtin.Namespace, { name: "kube-system" }), ({ metadata }) => metadata.uid)

/**
 * Where the release's objects go; undefined for the driver's own cluster. A client of another one, without a destination, would
 * have the driver deploy to one cluster and look at another.
 */
export const destination = Effect.fnUntraced(function* (home: Home, release: CdDriver.Release) {
  const remote = yield* CdDriver.Destination
  const client = yield* Client.Client
  if (remote !== undefined || home.proven.has(client)) return remote
  const [here, there] = yield* Effect.all([uidOf(client), uidOf(home.client)])
  if (here !== there) return yield* CdDriver.Reasons.wrong_cluster({ driver: home.driver, release: release.id })
  home.proven.add(client)
  return undefined
})

export const read = <O extends KubeObject>(
  { client }: Home,
  type: ResourceType<O>,
  ref: Ref
): Effect.Effect<O | undefined, KubeError.KubeError> =>
  Effect.map(
    Effect.catchTag(Effect.asSome(client.get(type, ref)), "NotFound", () => Effect.succeedNone),
    Option.getOrUndefined
  )

/** Somebody has to do something with this object: who waits for that is woken when it changes. */
export const declare = <O extends KubeObject>({ client }: Home, type: ResourceType<O>, ref: Ref) =>
  Effect.provideService(Inputs.read(type, ref), Client.Client, client)

const fieldManager = "berth"

/** Applies the draft where something differs. */
export const ensure = Effect.fnUntraced(function* <O extends KubeObject>(
  home: Home,
  type: ResourceType<O>,
  draft: Draft<O> & { readonly metadata: { readonly name: string } }
): Effect.fn.Return<O, KubeError.KubeError> {
  const { name, namespace } = draft.metadata
  const live = yield* read(home, type, { name, namespace })
  if (live !== undefined && holds(draft, live, fieldManager)) return live
  return yield* home.client.apply(type, draft, { fieldManager, force: true })
})

/** Deletes this object, and not a successor of the same name. */
export const remove = <O extends KubeObject>({ client }: Home, type: ResourceType<O>, { metadata }: O) =>
  Effect.catchTags(client.delete(type, metadata, { preconditions: { uid: metadata.uid } }), {
    NotFound: () => Effect.void,
    Conflict: () => Effect.void
  })
