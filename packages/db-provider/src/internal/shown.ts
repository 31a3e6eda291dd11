/** Names of a server, as far as they may be shown. */
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Identifier from "@berth/provisioners/Identifier"
import { Option } from "effect"

const unnamed = Identifier.of("one-that-cannot-be-shown")

/** Tenants and administrators may give things any name. */
export const ofName = (name: string): Identifier.Identifier =>
  Option.getOrElse(Identifier.fromString(name), () => unnamed)

/** Names of whoever keeps an object from being deleted: a message shows five and counts the others. */
export const namesOf = (objects: ReadonlyArray<KubeObject>): ReadonlyArray<Identifier.Identifier> =>
  objects
    .map(({ metadata }) => metadata.name)
    .toSorted()
    .map(ofName)
