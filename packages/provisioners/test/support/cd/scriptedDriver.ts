/** A driver that says what a test tells it to, and remembers what it was asked. */
import { Context, Effect, Layer } from "effect"
import * as CdDriver from "../../../src/CdDriver.ts"
import * as Identifier from "../../../src/Identifier.ts"

export class Script extends Context.Service<
  Script,
  {
    readonly wanted: () => ReadonlyArray<CdDriver.Wanted>
    readonly removed: () => ReadonlyArray<CdDriver.Release>
    /** What it sees from now on. At first everything is ready at once. */
    readonly sees: (observed: CdDriver.Observed) => void
    readonly removes: (removal: CdDriver.Removal) => void
  }
>()("test/Script") {}

export const scripted: Layer.Layer<CdDriver.CdDriver | Script> = Layer.effectContext(
  Effect.sync(() => {
    let observed: CdDriver.Observed = { _tag: "Ready" }
    let removal: CdDriver.Removal = { _tag: "Gone" }
    const wanted: Array<CdDriver.Wanted> = []
    const removed: Array<CdDriver.Release> = []
    const driver: CdDriver.Driver = {
      name: Identifier.of("scripted"),
      apply: (each) => Effect.sync(() => (wanted.push(each), observed)),
      remove: (each) => Effect.sync(() => (removed.push(each), removal))
    }
    return Context.make(CdDriver.CdDriver, driver).pipe(
      Context.add(Script, {
        wanted: () => wanted,
        removed: () => removed,
        sees: (each) => void (observed = each),
        removes: (each) => void (removal = each)
      })
    )
  })
)
