/**
 * What a program says about itself: the checks behind `/livez` and `/readyz`. It serves nothing; a server asks it.
 *
 * **Guarantees**
 * - K30: a check that hangs or dies counts as failing, and says so by name; the others are answered all the same.
 *
 * @since 0.1.0
 */
import { Context, Effect, Layer, Option, type Scope } from "effect"

/**
 * `live`: only a restart mends it. `ready`: not yet, or not now.
 *
 * @category models
 * @since 0.1.0
 */
export type Probe = "live" | "ready"

/**
 * @category models
 * @since 0.1.0
 */
export interface Check {
  readonly name: string
  /** What is wrong, in words for operators without anything secret; None when all is well. */
  readonly problem: Effect.Effect<Option.Option<string>>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly passing: boolean
  /** Every check, in order of registration. */
  readonly checks: ReadonlyArray<{ readonly name: string; readonly problem: Option.Option<string> }>
}

/** Shorter than the second that a kubelet gives a probe by default. */
const limit = "800 millis"

const examine = ({ name, problem }: Check) =>
  problem.pipe(
    Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.succeedSome("does not answer") }),
    Effect.catchCause(() => Effect.succeedSome("the check itself failed")),
    Effect.map((problem) => ({ name, problem }))
  )

/**
 * The checks of one program.
 *
 * @category services
 * @since 0.1.0
 */
export class Health extends Context.Service<
  Health,
  {
    /** Adds a check until the scope closes. */
    readonly register: (probe: Probe, check: Check) => Effect.Effect<void, never, Scope.Scope>
    /** Runs the checks. Without any, the report passes. */
    readonly report: (probe: Probe) => Effect.Effect<Report>
  }
>()("@berth/kube/Health") {
  static readonly layer = Layer.sync(Health, () => {
    const checks: Record<Probe, Set<Check>> = { live: new Set(), ready: new Set() }
    return {
      register: (probe, check) =>
        Effect.acquireRelease(
          Effect.sync(() => void checks[probe].add(check)),
          () => Effect.sync(() => checks[probe].delete(check))
        ),
      report: (probe) =>
        Effect.suspend(() =>
          Effect.map(Effect.forEach(checks[probe], examine, { concurrency: "unbounded" }), (checks): Report => ({
            passing: checks.every(({ problem }) => Option.isNone(problem)),
            checks
          }))
        )
    }
  })
}

/**
 * Adds a check where the program has a {@link Health}, and does nothing elsewhere.
 *
 * @category combinators
 * @since 0.1.0
 */
export const registerIfAny = (probe: Probe, check: Check): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(
    Effect.serviceOption(Health),
    Option.match({ onNone: () => Effect.void, onSome: (health) => health.register(probe, check) })
  )
