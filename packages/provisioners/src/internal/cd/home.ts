/** The driver's own cluster: whether the client in the context is of it, and what the driver writes there. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Effect } from "effect"
import * as CdDriver from "../../CdDriver.ts"
import type { Identifier } from "../../Identifier.ts"
import * as Inputs from "../inputs.ts"
import * as Ensured from "./ensured.ts"

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

export const read = <O extends KubeObject>({ client }: Home, type: ResourceType<O>, ref: Ref) =>
  Ensured.read(client, type, ref)

/** Somebody has to do something with this object: who waits for that is woken when it changes. */
export const declare = <O extends KubeObject>({ client }: Home, type: ResourceType<O>, ref: Ref) =>
  Effect.provideService(Inputs.read(type, ref), Client.Client, client)

/** Applies the draft where something differs. */
export const ensure = <O extends KubeObject>({ client }: Home, type: ResourceType<O>, draft: Ensured.Named<O>) =>
  Ensured.ensure(client, type, draft)

/** Deletes this object, and not a successor of the same name. */
export const remove = <O extends KubeObject>({ client }: Home, type: ResourceType<O>, object: O) =>
  Ensured.remove(client, type, object)
