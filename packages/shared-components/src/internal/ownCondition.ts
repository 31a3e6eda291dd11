/** A condition beside those of the manager, with a writer of its own. */
import type { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { ResourceType } from "@berth/kube/ResourceType"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import type { Effect } from "effect"

/** Applied by a field manager that has no other condition; nothing is sent where the object says the same already. */
export const publish = (
  type: ResourceType<Conditions.Reporting>,
  subject: Conditions.Subject,
  input: Conditions.Input,
  fieldManager: string
): Effect.Effect<void, Disposition.ProvisionError, Client> =>
  KubeFailure.classified(Conditions.apply(type, subject, [input], fieldManager))
