import { Effect } from "effect"
import type * as Disposition from "../../../src/Disposition.ts"

/** What a pass failed with; nothing when it succeeded. */
export const outcome = <R>(
  pass: Effect.Effect<void, Disposition.ProvisionError, R>
): Effect.Effect<Disposition.ProvisionError | undefined, never, R> =>
  Effect.match(pass, { onFailure: (failure) => failure, onSuccess: () => undefined })
