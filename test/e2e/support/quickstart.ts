/** `npm run quickstart` as somebody runs it who has just cloned the repository, and what is left of it afterwards. */
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createConnection } from "node:net"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { Data, Deferred, Duration, Effect, Schedule, type Scope } from "effect"

const repository = resolve(import.meta.dirname, "../../..")
/** What one run has compiled the next one need not. */
const compileCache = join(repository, "node_modules/.cache/berth-test")

export class NotSeen extends Data.TaggedError("NotSeen")<{ readonly what: string; readonly output: string }> {
  override get message() {
    return `${this.what} was not seen. The output was:\n${this.output}`
  }
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Quickstart {
  readonly output: () => string
  /** What went to standard error alone; on a pseudo-terminal there is none. */
  readonly errors: () => string
  /** Fails when the quickstart ends before it has said so. */
  readonly says: (what: string | RegExp) => Effect.Effect<void, NotSeen>
  readonly ended: Effect.Effect<Ended>
  /** To npm alone, or to all processes in the foreground, as a terminal does. */
  readonly signal: (signal: NodeJS.Signals, to: "npm" | "group") => Effect.Effect<void>
  /** Ends the operator without a warning. */
  readonly killOperator: Effect.Effect<void>
  /** As somebody at the keyboard. */
  readonly type: (text: string) => Effect.Effect<void>
  /** The folder that it takes for the machine's `/tmp`. */
  readonly folder: string
  /** Processes, files and open ports of this run, each as a sentence. */
  readonly left: Effect.Effect<ReadonlyArray<string>>
  /** Waits until nothing is left; fails with what is. */
  readonly gone: (within: Duration.Input) => Effect.Effect<void, NotSeen>
}

export interface Options {
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Instead of npm itself: a command line that ends up running it. */
  readonly command?: ReadonlyArray<string>
}

interface Process {
  readonly pid: number
  readonly command: string
}

/** All that this run starts has the token in its command line or in a variable: nothing else does. */
const marked = (token: string): ReadonlyArray<Process> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8")
        const isOurs = `${command}\0${readFileSync(`/proc/${pid}/environ`, "utf8")}`.includes(token)
        return isOurs ? [{ pid: Number(pid), command: command.replaceAll("\0", " ") }] : []
      } catch {
        // It has ended meanwhile, or is another user's.
        return []
      }
    })

const isOpen = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = createConnection({ host: "127.0.0.1", port })
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
  })

const portsIn = (output: string): ReadonlyArray<number> =>
  [...output.matchAll(/PostgreSQL is on port (\d+)/gu)].map(([, port]) => Number(port))

/** A new folder that begins with this name, for as long as the scope is open. */
export const folderOf = (token: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), `${token}-`))
      // PostgreSQL runs as another user, who has to get through.
      chmodSync(folder, 0o755)
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )

const started = (folder: string, token: string, { args = [], command = ["npm"], env = {} }: Options) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const [program = "npm", ...before] = command
      const given = args.length === 0 ? [] : ["--", ...args]
      const words = program === "npm" ? ["run", "quickstart", ...given] : before
      // The folder that does not exist carries the token to the processes of the Jobs, which get no variable but PATH.
      const PATH = `${process.env["PATH"] ?? ""}:/nonexistent/${token}`
      const { CI: _ci, NO_COLOR: _colour, FORCE_COLOR: _force, ...inherited } = process.env
      return spawn(program, words, {
        cwd: repository,
        detached: true,
        stdio: ["pipe", "pipe", "pipe"],
        env: { ...inherited, NODE_COMPILE_CACHE: compileCache, TERM: "xterm", ...env, PATH, TMPDIR: folder }
      })
    }),
    (child) => Effect.sync(() => toGroup(child, "SIGKILL"))
  )

const toGroup = (child: ChildProcess, signal: NodeJS.Signals) => {
  try {
    process.kill(-(child.pid ?? 0), signal)
  } catch {
    // All of the group have ended.
  }
}

/** Starts it; whatever is left of it when the scope closes is killed. */
export const start = Effect.fn("quickstart")(function* (
  options: Options = {}
): Effect.fn.Return<Quickstart, never, Scope.Scope> {
  const token = `berth-e2e-${randomBytes(6).toString("hex")}`
  const folder = yield* folderOf(token)
  const child = yield* started(folder, token, options)
  const end = yield* Deferred.make<Ended>()
  let [output, errors] = ["", ""]
  let heard = () => undefined as void
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
    heard()
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text
  })
  child.stdin.on("error", () => undefined)
  child.once("close", (code, signal) => Deferred.doneUnsafe(end, Effect.succeed({ code, signal })))

  const says: Quickstart["says"] = (what) => {
    const isThere = () => (typeof what === "string" ? output.includes(what) : what.test(output))
    const there = Effect.callback<void>((resume) => {
      heard = () => {
        if (isThere()) resume(Effect.void)
      }
      heard()
    })
    const tooLate = Effect.flatMap(Deferred.await(end), () =>
      isThere() ? Effect.void : Effect.fail(new NotSeen({ what: String(what), output: output + errors }))
    )
    return Effect.raceFirst(there, tooLate)
  }
  const left = Effect.gen(function* () {
    const open = yield* Effect.filter(portsIn(output), isOpen)
    return [
      ...marked(token).map(({ command, pid }) => `process ${pid}: ${command.slice(0, 160)}`),
      // Beside them there is a cache of npm's own.
      ...readdirSync(folder).flatMap((name) => (name.startsWith("berth-") ? [`file ${name}`] : [])),
      ...open.map((port) => `port ${port} is open`)
    ]
  })
  return {
    output: () => output,
    errors: () => errors,
    says,
    ended: Deferred.await(end),
    folder,
    left,
    signal: (signal, to) =>
      Effect.sync(() => {
        if (to === "group") toGroup(child, signal)
        else child.kill(signal)
      }),
    killOperator: Effect.sync(() => {
      const operators = marked(token).filter(({ command }) => /^\S*node .*operator\/src\/main\.ts run /u.test(command))
      operators.forEach(({ pid }) => process.kill(pid, "SIGKILL"))
    }),
    type: (text) => Effect.sync(() => void child.stdin.write(text)),
    gone: (within) =>
      Effect.repeat(left, { until: (found) => found.length === 0, schedule: Schedule.spaced("50 millis") }).pipe(
        Effect.timeoutOption(within),
        Effect.andThen(left),
        Effect.flatMap((found) =>
          found.length === 0
            ? Effect.void
            : Effect.fail(new NotSeen({ what: `an end without ${found.join("; ")}`, output: output + errors }))
        )
      )
  }
})

/** Waits until the run has made something of this name in its folder. */
export const makes = ({ folder }: Quickstart, prefix: string) =>
  Effect.repeat(
    Effect.sync(() => readdirSync(folder).map((path) => basename(path))),
    { until: (names) => names.some((name) => name.startsWith(prefix)), schedule: Schedule.spaced("5 millis") }
  )

/** A file with this text, for as long as the scope is open. */
export const file = (name: string, text: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(folderOf("berth-e2e-file"), (folder) => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  })
