/** How requests of this package fail. */
import type * as KubeError from "@berth/kube/KubeError"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, type Option } from "effect"

/** None where the object is not there. */
export const orNone = <A, R>(
  request: Effect.Effect<A, KubeError.KubeError, R>
): Effect.Effect<Option.Option<A>, Disposition.ProvisionError, R> =>
  request.pipe(
    Effect.asSome,
    Effect.catchTag("NotFound", () => Effect.succeedNone),
    KubeFailure.classified
  )
