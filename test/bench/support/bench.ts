/** What a benchmark gets, and what it gives back. */
import type { Client } from "@berth/kube/Client"
import type { ControlPlane } from "@berth/testing/ControlPlane"
import { Effect, type Scope } from "effect"
import type { Peer, Peers } from "./peers.ts"
import type { Measure } from "./results.ts"
import type { Sizes } from "./sizes.ts"

export interface Setting {
  readonly peers: Peers
  readonly sizes: Sizes
  /** Where programs find the cluster. */
  readonly kubeconfigFile: string
}

/** Measures on a control plane of its own. */
export type Benchmark = (
  setting: Setting
) => Effect.Effect<ReadonlyArray<Measure>, unknown, Client | ControlPlane | Scope.Scope>

/** One figure of each program, one after the other, so that neither disturbs the other. */
export const each = <A, E, R>(
  { berth, other }: Peers,
  measure: (peer: Peer) => Effect.Effect<A, E, R>,
  order: "berth first" | "berth last" = "berth first"
): Effect.Effect<{ readonly berth: A; readonly other: A | undefined }, E, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const ofBerth = Effect.scoped(measure(berth))
    const ofOther = other === undefined ? Effect.succeed(undefined) : Effect.scoped(measure(other))
    if (order === "berth first") return { berth: yield* ofBerth, other: yield* ofOther }
    const first = yield* ofOther
    return { berth: yield* ofBerth, other: first }
  })
