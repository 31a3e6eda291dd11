/** Names of whoever keeps an object from being deleted. */
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Identifier from "@berth/provisioners/Identifier"
import { Option } from "effect"

/** All of them: a message shows five and counts the others. */
export const names = (objects: ReadonlyArray<KubeObject>): ReadonlyArray<Identifier.Identifier> =>
  objects
    .map(({ metadata }) => metadata.name)
    .sort()
    .flatMap((name) => Option.toArray(Identifier.fromString(name)))

/** Woken when one of them goes; the delay is for a change that was missed. */
export const wait = { after: "1 minute" } as const
