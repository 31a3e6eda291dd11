/**
 * Local processes and folders that do not outlive the program that asked for them.
 *
 * **Guarantees**
 * - T11: a process, everything else in its process group, and a folder are gone once their scope is closed. When this
 *   program is killed without a chance to clean up, a watcher does it: a shell that waits for the end of a pipe which
 *   only this program holds open.
 *
 * **Caveats**
 * - A process that makes itself the leader of another session (`setsid`) leaves the group and is not found.
 * - POSIX only: `/bin/sh`, process groups.
 */
import { type ChildProcess, spawn as spawnChild } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Data, Deferred, Effect, type Scope } from "effect"

/** The program could not be started at all. */
export class SpawnFailed extends Data.TaggedError("SpawnFailed")<{
  readonly command: string
  readonly why: string
}> {
  override get message() {
    return `${this.command} could not be started: ${this.why}`
  }
}

/** How a process ended: its exit code, or 128 and the number of the signal. */
export interface Ended {
  readonly code: number
  readonly signal: NodeJS.Signals | undefined
}

export interface Options {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** Run as this user instead of the program's own; only root can. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
  /** What the whole group gets when the scope closes or this program dies. Default KILL. */
  readonly lastSignal?: "KILL" | "QUIT" | undefined
  /** Standard output and standard error, in the order in which they were written. */
  readonly onOutput: (chunk: Buffer) => void
}

export interface Running {
  readonly pid: number
  /** Waits for the end of the process and of its output. Nothing of its group is left then. */
  readonly ended: Effect.Effect<Ended>
  /** Sends a signal to the process itself, not to its children; nothing happens once it has ended. */
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
}

/**
 * The process itself replaces the shell (`exec`), so that its id is the child's. The watcher lives in the same group, which
 * keeps the group's id from being given to anybody else until the watcher has ended it. It ignores what ends ordinary
 * processes, since it must outlive them.
 */
const supervised = (lastSignal: string): string => `exec 3<&0 </dev/null 2>&1
{ trap '' TERM HUP INT; read -r _ <&3; kill -s ${lastSignal} -- -$$; } >/dev/null 2>&1 &
exec 3<&-
exec "$@"`

/** Numbers as on Linux, for the exit code that a container runtime reports. */
const signalNumbers: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15
}

const endedWith = (code: number | null, signal: NodeJS.Signals | null): Ended =>
  signal === null ? { code: code ?? 1, signal: undefined } : { code: 128 + (signalNumbers[signal] ?? 0), signal }

/** How long output may go on after the process has ended: only one that left its group can hold it open. */
const outputGraceMs = 500

/** Whoever left the group may write on; nobody listens any more. */
const watchEnd = (child: ChildProcess, done: (ended: Ended) => void): void => {
  let ended: Ended | undefined
  let timer: NodeJS.Timeout | undefined
  child.once("exit", (code, signal) => {
    ended = endedWith(code, signal)
    // Ends the watcher, which ends what is left of the group.
    child.stdin?.end()
    timer = setTimeout(() => child.stdout?.destroy(), outputGraceMs)
  })
  child.once("close", () => {
    clearTimeout(timer)
    done(ended ?? { code: 1, signal: undefined })
  })
}

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile, which is what the signal was for.
  }
}

const start = (options: Options): Effect.Effect<ChildProcess & { readonly pid: number }, SpawnFailed> =>
  Effect.callback((resume) => {
    const child = spawnChild(
      "/bin/sh",
      ["-c", supervised(options.lastSignal ?? "KILL"), "sh", options.command, ...options.args],
      {
        cwd: options.cwd,
        env: { ...options.env },
        detached: true,
        stdio: ["pipe", "pipe", "ignore"],
        ...options.user
      }
    )
    const failed = (error: Error): void =>
      resume(Effect.fail(new SpawnFailed({ command: options.command, why: error.message })))
    child.once("error", failed)
    // Writing to the watcher's pipe after its end is of no interest.
    child.stdin.on("error", () => undefined)
    child.stdout.on("data", options.onOutput)
    child.once("spawn", () => {
      child.off("error", failed)
      child.on("error", () => undefined)
      const pid = child.pid
      if (pid !== undefined) {
        resume(Effect.succeed(Object.assign(child, { pid })))
      }
    })
  })

/** Starts a process in a group of its own, and ends the group with the scope. */
export const spawn = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Running, SpawnFailed, Scope.Scope> {
  const ended = yield* Deferred.make<Ended>()
  const child = yield* Effect.acquireRelease(
    Effect.tap(start(options), (child) =>
      Effect.sync(() => watchEnd(child, (end) => Deferred.doneUnsafe(ended, Effect.succeed(end))))
    ),
    (child) => {
      child.stdin?.end()
      return Deferred.await(ended)
    }
  )
  return {
    pid: child.pid,
    ended: Deferred.await(ended),
    signal: (signal) =>
      Effect.sync(() => {
        if (child.exitCode === null && child.signalCode === null) {
          send(child.pid, signal)
        }
      })
  }
})

/** A child of the program may still be writing into the folder: a few attempts, a tenth of a second apart. */
const janitor = `read -r _
n=0
while [ -e "$1" ] && [ $n -lt 100 ]; do rm -rf -- "$1"; n=$((n+1)); [ -e "$1" ] && sleep 0.1; done`

const remove = (path: string): void => {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  } catch {
    // The janitor tries again, for longer.
  }
}

/** A new folder that only this program's user can read, until the scope closes. */
export const temporaryFolder = (prefix: string, mode = 0o700): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const path = mkdtempSync(join(tmpdir(), `${prefix}-`))
        chmodSync(path, mode)
        const child = spawnChild("/bin/sh", ["-c", janitor, "sh", path], {
          cwd: "/",
          detached: true,
          stdio: ["pipe", "ignore", "ignore"]
        })
        child.on("error", () => undefined)
        child.stdin.on("error", () => undefined)
        child.unref()
        return { child, path }
      }),
      ({ child, path }) =>
        Effect.callback<void>((resume) => {
          remove(path)
          if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
            return resume(Effect.void)
          }
          child.once("exit", () => resume(Effect.void))
          child.ref()
          child.stdin.end()
        })
    ),
    ({ path }) => path
  )
