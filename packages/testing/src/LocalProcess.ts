/**
 * Processes and folders of this machine that do not outlive the program that asked for them: an operator under test, a server that
 * a test needs.
 *
 * **Guarantees**
 * - T11: a process, whatever it started, and a folder are gone once their scope is closed, and also when this program is killed.
 *
 * **Caveats**
 * - A process that makes itself the leader of another session (`setsid`) is not found.
 *
 * @since 0.1.0
 */
import * as ports from "./internal/freePorts.ts"
import * as process from "./internal/process.ts"

/**
 * @category models
 * @since 0.1.0
 */
export type { Ended, Options, Running } from "./internal/process.ts"

/**
 * The program could not be started at all.
 *
 * @category errors
 * @since 0.1.0
 */
export const SpawnFailed = process.SpawnFailed
/**
 * @category errors
 * @since 0.1.0
 */
export type SpawnFailed = process.SpawnFailed

/**
 * Starts a process in a group of its own, and ends the group with the scope.
 *
 * **Example** (An operator that is killed)
 * ```ts
 * import * as LocalProcess from "@berth/testing/LocalProcess"
 * import { Effect } from "effect"
 *
 * export const killed = Effect.gen(function* () {
 *   const operator = yield* LocalProcess.spawn({
 *     command: "sleep", args: ["60"], env: { PATH: "/usr/bin:/bin" }, cwd: "/", onOutput: () => undefined
 *   })
 *   yield* operator.signal("SIGKILL")
 *   return yield* operator.ended
 * }).pipe(Effect.scoped)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const spawn = process.spawn

/**
 * A new folder that only this program's user can read.
 *
 * @category constructors
 * @since 0.1.0
 */
export const temporaryFolder = process.temporaryFolder

/**
 * So many different ports of 127.0.0.1 that are free now.
 *
 * **Caveats**
 * - Somebody else may take one before it is used: a server that takes its port itself (port 0) has no such moment.
 *
 * @category constructors
 * @since 0.1.0
 */
export const freePorts = ports.freePorts
