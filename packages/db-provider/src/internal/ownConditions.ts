/** Conditions beside those of a manager, with a writer of their own. */
import type { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceTypes from "@berth/kube/ResourceType"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import type { Effect } from "effect"

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

/** All that this field manager has to say: what it does not repeat is taken away. */
export const publish = (
  type: ResourceTypes.ResourceType<Conditions.Reporting>,
  subject: Conditions.Subject,
  inputs: ReadonlyArray<Conditions.Input>,
  fieldManager: string
): Effect.Effect<void, Disposition.ProvisionError, Client> =>
  KubeFailure.classified(Conditions.apply(type, subject, inputs, fieldManager))
