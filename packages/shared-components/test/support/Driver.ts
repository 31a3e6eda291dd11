/** A CD driver that deploys nothing: it says what a test tells it to, and remembers what it was asked. */
import * as CdDriver from "@berth/provisioners/CdDriver"
import * as Identifier from "@berth/provisioners/Identifier"
import { Effect, Redacted } from "effect"

const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

/** Values as a chart gets them; what is secret stands in angle brackets. */
const shown = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return `<${String(Redacted.value(value))}>`
  if (isList(value)) return value.map(shown)
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shown(each)]))
    : value
}

export const make = () => {
  const seen = new Map<string, CdDriver.Observed>()
  const removals = new Map<string, CdDriver.Removal>()
  const wanted = new Map<string, CdDriver.Wanted>()
  const log: Array<string> = []
  const driver: CdDriver.Driver = {
    name: Identifier.of("scripted"),
    apply: (each) =>
      Effect.sync(() => {
        if (wanted.get(each.name)?.digest !== each.digest) log.push(`deploy ${each.name}`)
        wanted.set(each.name, each)
        return seen.get(each.name) ?? { _tag: "Ready" }
      }),
    remove: (release) =>
      Effect.sync(() => {
        const removal = removals.get(release.name) ?? { _tag: "Gone" }
        if (removal._tag === "Gone") {
          log.push(`remove ${release.name}`)
          wanted.delete(release.name)
        }
        return removal
      })
  }
  return {
    driver,
    /** What it says of a release from now on, instead of that it is ready. */
    sees: (release: string, observed: CdDriver.Observed) => void seen.set(release, observed),
    removes: (release: string, removal: CdDriver.Removal) => void removals.set(release, removal),
    /** What was asked of it last about a release that is to be there. */
    wanted: (release: string) => wanted.get(release),
    values: (release: string) => shown(wanted.get(release)?.values),
    /** What was deployed and what is gone, in order. */
    log: (): ReadonlyArray<string> => [...log]
  }
}
