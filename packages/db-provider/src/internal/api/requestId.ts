/** By what name answers, audit and logs know a request. */
import { Context } from "effect"
import { randomUUID } from "node:crypto"

export const RequestId = Context.Reference<string>("@berth/db-provider/RequestId", { defaultValue: () => "" })

export const header = "x-request-id"

/** The caller's own, where it has a shape that can be in a log; otherwise a new one. */
export const from = (given: string | undefined): string =>
  given !== undefined && /^[A-Za-z0-9][-A-Za-z0-9_.]{0,127}$/u.test(given) ? given : randomUUID()
