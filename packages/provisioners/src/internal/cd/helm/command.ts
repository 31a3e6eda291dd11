/**
 * Runs `helm` once: with files that only this program's user can read, in a folder that is gone afterwards, and with nothing
 * secret among its arguments.
 */
import { spawn } from "node:child_process"
import { lstat, mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Data, Duration, Effect, type Scope } from "effect"

/** There is no such program, it cannot be started, or there is no place for its files. */
export class HelmMissing extends Data.TaggedError("HelmMissing")<{ readonly why: string }> {}

/** It ended otherwise than well; `output` is the end of what it said. */
export class HelmFailed extends Data.TaggedError("HelmFailed")<{ readonly output: string }> {}

export interface Run {
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** By name; the arguments say `{name}` where a file's path goes. */
  readonly files: Readonly<Record<string, string>>
  readonly timeout: Duration.Duration
}

const outputMax = 8_192
/** Told to stop, helm writes into the release that it did. It gets so long for that. */
const graceMs = 5_000

/** A disk that is full, or that nothing may be written to, says so by a code; what was to be written is in no message. */
const stored = <A>(store: () => Promise<A>): Effect.Effect<A, HelmMissing> =>
  Effect.tryPromise({
    try: store,
    catch: (error) => new HelmMissing({ why: `there is no place for helm's files: ${String(error)}` })
  })

const prefix = "berth-helm-run-"
/** No run of any program here takes so long. */
const abandonedMs = 60 * 60_000

const isAbandoned = async (path: string, timeout: Duration.Duration): Promise<boolean> => {
  const info = await lstat(path)
  const oldestMs = Date.now() - Math.max(abandonedMs, 2 * Duration.toMillis(timeout))
  return info.isDirectory() && info.uid === process.getuid?.() && info.mtimeMs < oldestMs
}

/** A process that was killed has left its folder behind, where the disk outlives it. */
const swept = (timeout: Duration.Duration): Effect.Effect<void> =>
  Effect.promise(async () => {
    const names = (await readdir(tmpdir())).filter((name) => name.startsWith(prefix))
    for (const path of names.map((name) => join(tmpdir(), name))) {
      if (await isAbandoned(path, timeout)) await rm(path, { recursive: true, force: true })
    }
  }).pipe(
    // Somebody else may sweep at the same time, and the next run will.
    Effect.catchCause(() => Effect.void)
  )

const folder: Effect.Effect<string, HelmMissing, Scope.Scope> = Effect.acquireRelease(
  stored(() => mkdtemp(join(tmpdir(), prefix))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))
)

/** The program's own settings, without those that would make helm read or run something else. */
const environmentOf = (path: string): NodeJS.ProcessEnv => {
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:HELM|KUBE)/u.test(name))
  return {
    ...Object.fromEntries(kept),
    HELM_DRIVER: "secret",
    HELM_CACHE_HOME: join(path, "cache"),
    HELM_CONFIG_HOME: join(path, "config"),
    HELM_DATA_HOME: join(path, "data"),
    HELM_PLUGINS: join(path, "plugins"),
    KUBECONFIG: join(path, "kubeconfig")
  }
}

/** With the group, what helm started to find out who it is ends as well. */
const kill = (pid: number | undefined, signal: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}

const ended = (program: string, args: ReadonlyArray<string>, path: string) =>
  Effect.callback<void, HelmMissing | HelmFailed>((resume) => {
    const child = spawn(program, [...args], {
      cwd: path,
      env: environmentOf(path),
      detached: true,
      stdio: ["ignore", "ignore", "pipe"]
    })
    let output = ""
    const done = new Promise<void>((resolve) => {
      child.once("close", (code) => {
        resume(code === 0 ? Effect.void : Effect.fail(new HelmFailed({ output: output.trim() })))
        resolve()
      })
      child.once("error", (error: NodeJS.ErrnoException) => {
        resume(Effect.fail(new HelmMissing({ why: `${program} cannot be run: ${error.code ?? error.message}` })))
        resolve()
      })
    })
    child.stderr.setEncoding("utf8")
    child.stderr.on("data", (chunk: string) => {
      output = (output + chunk).slice(-outputMax)
    })
    return Effect.promise(async () => {
      kill(child.pid, "SIGTERM")
      const timer = setTimeout(() => kill(child.pid, "SIGKILL"), graceMs)
      await done
      clearTimeout(timer)
    })
  })

export const run = ({ args, files, program, timeout }: Run): Effect.Effect<void, HelmMissing | HelmFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* swept(timeout)
      const path = yield* folder
      yield* Effect.forEach(Object.entries(files), ([name, text]) =>
        stored(() => writeFile(join(path, name), text, { mode: 0o600, flag: "wx" }))
      )
      const placed = args.map((arg) => (arg.startsWith("{") ? join(path, arg.slice(1, -1)) : arg))
      yield* Effect.timeoutOrElse(ended(program, placed, path), {
        duration: timeout,
        orElse: () => Effect.fail(new HelmFailed({ output: `helm did not end within ${Duration.format(timeout)}` }))
      })
    })
  )
