/** A statement that waits for locks, and by another connection the end of whoever holds them. */
import { Effect } from "effect"
import type { Connection } from "../Connector.ts"
import type { PostgresError } from "../PostgresError.ts"
import * as Registry from "../Registry.ts"
import type { ShardServer } from "../ShardServer.ts"

/** Longer than a statement takes that nothing is in the way of. */
const lookEvery = "250 millis"

/**
 * Runs the statement, and `clear` again and again until that is over. Whoever comes again at once stands behind the statement then, as it
 * would not if it was ended before.
 */
export const meanwhile = (
  server: ShardServer,
  statement: Effect.Effect<void, PostgresError>,
  clear: (connection: Connection) => Effect.Effect<void, PostgresError>
): Effect.Effect<void, PostgresError> => {
  const clearing = Effect.gen(function* () {
    yield* Effect.sleep(lookEvery)
    const connection = yield* server.inDatabase(Registry.database)
    return yield* Effect.forever(Effect.andThen(clear(connection), Effect.sleep(lookEvery)))
  }).pipe(
    Effect.scoped,
    // The statement says what is wrong, when its time is over.
    Effect.catch(() => Effect.never)
  )
  return Effect.raceFirst(statement, clearing)
}
