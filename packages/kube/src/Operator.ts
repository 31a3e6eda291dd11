/**
 * Runs controllers as a program: from a quiet start to an orderly end.
 *
 * **Guarantees**
 * - K19: when it is interrupted no new reconcile starts, those that run get a time of grace and are then interrupted, and
 *   leadership is released after that. {@link runMain} does so at the first SIGTERM or SIGINT and exits with 0; the second
 *   one ends the process at once.
 *
 * **Caveats**
 * - Give the Pod more time to end (`terminationGracePeriodSeconds`) than `grace` and 5 seconds for cleaning up.
 *
 * @since 0.1.0
 */
import { type Duration, Effect, Exit, Scope } from "effect"
import type { Caches } from "./Caches.ts"
import type { Controller } from "./Controller.ts"
import * as mainProcess from "./internal/mainProcess.ts"

/**
 * The right to reconcile, where only one process of several has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Leadership {
  /** Ends when this process is not the leader any more. */
  readonly lost: Effect.Effect<void>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options<out R = never> {
  /** How long running reconciles get when the program is to end. Default 10 s; zero interrupts them at once. */
  readonly grace?: Duration.Input | undefined
  /**
   * Waits for leadership, while the caches fill. The scope is closed when no reconcile runs any more: that is the place to
   * give leadership back. Default: none is needed.
   */
  readonly leadership?: Effect.Effect<Leadership, never, R> | undefined
}

/**
 * Runs the controllers until it is interrupted, or until leadership is lost: then it interrupts every reconcile at once and
 * succeeds.
 *
 * **Example** (The main of an operator)
 * ```ts
 * import * as Caches from "@berth/kube/Caches"
 * import type { Client } from "@berth/kube/Client"
 * import type { Controller } from "@berth/kube/Controller"
 * import * as Operator from "@berth/kube/Operator"
 * import { Effect, type Layer } from "effect"
 *
 * export const main = (controllers: ReadonlyArray<Controller>, client: Layer.Layer<Client>) =>
 *   Operator.run(controllers, { grace: "20 seconds" }).pipe(
 *     Effect.provide(Caches.layer),
 *     Effect.provide(client),
 *     Operator.runMain
 *   )
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = <R = never, RL = never>(
  controllers: ReadonlyArray<Controller<R>>,
  { grace = "10 seconds", leadership }: Options<RL> = {}
): Effect.Effect<void, never, R | Exclude<RL, Scope.Scope> | Caches> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const leading = yield* Scope.make()
      const running = yield* Effect.forEach(controllers, ({ start }) => Scope.provide(start, scope))
      yield* Effect.logInfo(`started: ${controllers.map(({ name }) => name).join(", ")}`)

      const exit = yield* Effect.exit(
        restore(
          Effect.gen(function* () {
            const leader = leadership === undefined ? undefined : yield* Scope.provide(leadership, leading)
            yield* Effect.forEach(running, ({ begin }) => begin, { discard: true })
            yield* leader === undefined ? Effect.never : leader.lost
          })
        )
      )

      yield* Effect.logInfo(Exit.isSuccess(exit) ? "leadership is lost" : "stopping")
      const limit = Exit.isSuccess(exit) ? 0 : grace
      yield* Effect.forEach(running, ({ stop }) => stop(limit), { concurrency: "unbounded", discard: true })
      yield* Scope.close(leading, exit)
      yield* Scope.close(scope, exit)
      yield* exit
    })
  )

/**
 * Runs a program as the process: the first SIGTERM or SIGINT interrupts it, and when it has ended the process exits with 0;
 * the second one ends the process at once, with 128 and the signal's number. The same signal within 300 ms is still the first
 * one, which a terminal and npm have both sent. A failure is logged and exits with 1, or with the code that the error has under
 * `Runtime.errorExitCode`.
 *
 * @category running
 * @since 0.1.0
 */
export const runMain: <A, E>(program: Effect.Effect<A, E>) => void = mainProcess.run
