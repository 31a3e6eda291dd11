import { describe, layer } from "@effect/vitest"
import { Layer } from "effect"
import { attacks, Tenants } from "./support/attacks.ts"
import * as ShardBench from "./support/ShardBench.ts"

describe("A tenant on PostgreSQL 18", { timeout: 30_000 }, () => {
  layer(Layer.provideMerge(Tenants.layer, ShardBench.layer()), { timeout: 60_000, excludeTestServices: true })(attacks)
})
