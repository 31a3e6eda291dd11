/** What became of a request that may have to wait. */
import type * as Api from "../../Api.ts"
import type { Database } from "../../Database.ts"
import { phaseOf } from "../../Records.ts"
import * as Views from "./views.ts"

export type Outcome<Done> =
  | { readonly _tag: "Done"; readonly isNew: boolean; readonly database: Done }
  | { readonly _tag: "Pending"; readonly database: Api.Summary; readonly retryAfterSeconds: number }

const askAgainSeconds = 2

/** A person has to do something first. */
export const askLaterSeconds = 30

export const pending = (record: Database): Outcome<never> => ({
  _tag: "Pending",
  database: Views.summaryOf(record),
  retryAfterSeconds: phaseOf(record) === "Failed" ? askLaterSeconds : askAgainSeconds
})
