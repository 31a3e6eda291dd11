/**
 * The two forms of an Event: as the core group has it, which is how it is stored, and as `events.k8s.io` has it.
 */
import { fields, type Fields, type Obj } from "./json.ts"

/** Core name, then the name in `events.k8s.io`. */
const renamed: ReadonlyArray<readonly [string, string]> = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"]
]

const rename = (object: Fields, names: ReadonlyMap<string, string>): Fields =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]))

const toEvents = new Map(renamed)
const toCore = new Map(renamed.map(([core, events]) => [events, core]))

/** @internal */
export const conversion = {
  to: (stored: Obj): Obj => {
    const { reportingController, reportingInstance, ...others } = rename(stored, toEvents)
    return {
      ...others,
      ...(reportingController === "" ? {} : { reportingController }),
      ...(reportingInstance === "" ? {} : { reportingInstance }),
      apiVersion: "events.k8s.io/v1"
    } as Obj
  },
  from: (served: Obj): Obj => ({ ...rename(served, toCore), apiVersion: "v1" }) as Obj
}

/** The fields that the server always answers with, as empty values. @internal */
export const filled = (stored: Obj): Obj => ({
  ...stored,
  source: fields(stored["source"]),
  firstTimestamp: stored["firstTimestamp"] ?? null,
  lastTimestamp: stored["lastTimestamp"] ?? null,
  eventTime: stored["eventTime"] ?? null,
  reportingComponent: stored["reportingComponent"] ?? "",
  reportingInstance: stored["reportingInstance"] ?? ""
})
