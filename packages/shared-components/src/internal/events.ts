/** Tells people of what was done, where the program has somebody who takes reports. */
import * as Events from "@berth/kube/Events"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceTypes from "@berth/kube/ResourceType"
import { Effect, Option } from "effect"

interface Identity {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
}

/** A decoded object as a report names it. */
export const regarding = (type: ResourceTypes.ResourceType, { name, namespace, uid }: Identity): KubeObject => ({
  apiVersion: ResourceTypes.apiVersion(type),
  kind: type.kind,
  metadata: { name, uid, ...(namespace === undefined ? {} : { namespace }) }
})

/** Nothing depends on it: a program without a recorder goes without Events. */
export const report = (about: Events.Report): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.serviceOption(Events.Recorder),
    Option.match({ onNone: () => Effect.void, onSome: ({ record }) => record(about) })
  )
