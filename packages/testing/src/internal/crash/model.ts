/** What is tried, how often a program is to die in it, and how a run with these deaths went. */
import type { Client } from "@berth/kube/Client"
import type { Transport } from "@berth/kube/Transport"
import type { Effect, Layer, Scope } from "effect"
import type { Cluster } from "../../Cluster.ts"
import type { Faults } from "../../Faults.ts"
import type { Rule, Sent } from "../faults/model.ts"

/** Anything that is run in the world. */
export type Act<R> = Effect.Effect<unknown, unknown, R | Cluster | Scope.Scope>

export interface Scenario<W, E> {
  readonly name: string
  /** What outlives the program: a cluster, the kinds, the client of the test. */
  readonly world: Layer.Layer<Cluster | W, E>
  /**
   * The program, as it would start in a process of its own: it runs until it is interrupted. What it may not remember after a death
   * has to be made in here.
   */
  readonly system: Act<W | Client | Transport | Faults>
  /** What users and others do, step by step, and for what they wait. No death disturbs it. */
  readonly drive: Act<W>
  /** Ends when the program has come to rest. Default: it has asked nothing for as long as `quiet` says. */
  readonly settled?: Act<W> | undefined
  /** What must hold when the program has come to rest and was stopped. One that fails or dies does not hold. */
  readonly invariants: Readonly<Record<string, Act<W>>>
  /** What must hold after every write that took effect, too. */
  readonly always?: Readonly<Record<string, Act<W>>> | undefined
  /** What befalls every program of each run beside its death, such as `Faults.random`. */
  readonly faults?: ReadonlyArray<Rule> | undefined
}

/** One death. By which write, where it is named; by how many writes came before it, where not. */
export interface Point {
  readonly when: "before" | "after"
  /** Among the writes of the program since its start, from 1. */
  readonly index: number
  readonly write?: Pick<Sent, "verb" | "resource" | "namespace" | "name" | "occurrence"> | undefined
}

/** The first point is for the program as it starts first, the next one for what was started after the first death. */
export type Recipe = ReadonlyArray<Point>

/** From a start of the program to its death, or to the end of the run. */
export interface Life {
  /** Every write that it began, in order. */
  readonly writes: ReadonlyArray<Sent>
  readonly death: { readonly when: "before" | "after"; readonly at: Sent } | undefined
}

export interface Outcome {
  readonly recipe: Recipe
  readonly lives: ReadonlyArray<Life>
  /** What did not hold; undefined where everything did. */
  readonly failure: { readonly what: string; readonly cause: unknown } | undefined
}
