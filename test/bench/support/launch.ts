/** A program under measurement: started, listened to, and looked at from outside. */
import { readFileSync } from "node:fs"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Data, Deferred, Effect, type Scope } from "effect"
import * as CpuTimes from "./cpuTimes.ts"

/** Something that the program said of itself, with the time since it was started. */
export interface Said {
  readonly event: string
  readonly atMs: number
  readonly values: Readonly<Record<string, number>>
}

/** The program ended, or was silent for too long. */
export class ProgramFailed extends Data.TaggedError("ProgramFailed")<{
  readonly program: string
  readonly problem: string
  /** The end of what it wrote. */
  readonly output: string
}> {
  override get message() {
    return `${this.program}: ${this.problem}. Its last words:\n${this.output}`
  }
}

export interface Launched {
  readonly pid: number
  /** Waits until it has said this. */
  readonly said: (event: string) => Effect.Effect<Said, ProgramFailed>
  readonly all: (event: string) => ReadonlyArray<Said>
  /** Resident memory now, in MB of 10^6 bytes. */
  readonly residentMb: Effect.Effect<number>
  /** Seconds of CPU since it was started. */
  readonly cpuSeconds: Effect.Effect<number>
  /** Lets it collect its garbage; what it says then. */
  readonly collect: Effect.Effect<Said, ProgramFailed>
  /** Asks it to end, and waits; what it says at the end. */
  readonly stop: Effect.Effect<Said, ProgramFailed>
  /** Asks it to end, and waits until it has. */
  readonly end: Effect.Effect<void>
  /** Fails once it has ended. */
  readonly ended: Effect.Effect<never, ProgramFailed>
}

const outputMax = 4_096

const patience = "2 minutes"

const field = (pid: number, name: string): number => {
  const line = readFileSync(`/proc/${pid}/status`, "utf8")
    .split("\n")
    .find((each) => each.startsWith(`${name}:`))
  return Number(/\d+/u.exec(line ?? "")?.[0] ?? 0)
}

const parse = (line: string): Record<string, unknown> | undefined => {
  if (!line.startsWith("{")) return undefined
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // A line of the log that only looks like one.
    return undefined
  }
}

const numbers = (entry: Record<string, unknown>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(entry).flatMap(([key, value]): ReadonlyArray<readonly [string, number]> =>
      typeof value === "number" ? [[key, value]] : []
    )
  )

/** What was said, and who waits for more of it. */
const listener = (startedMs: number) => {
  const heard: Array<Said> = []
  const waiting: Array<{ readonly event: string; readonly count: number; readonly hear: (said: Said) => void }> = []
  let rest = ""
  let output = ""
  const all = (event: string) => heard.filter((said) => said.event === event)

  const take = (chunk: Buffer): void => {
    const atMs = performance.now() - startedMs
    const lines = (rest + chunk.toString()).split("\n")
    rest = lines.pop() ?? ""
    output = (output + chunk.toString()).slice(-outputMax)
    for (const line of lines) {
      const entry = parse(line)
      const event = entry?.["event"]
      if (entry !== undefined && typeof event === "string") heard.push({ event, atMs, values: numbers(entry) })
    }
    for (const each of waiting) {
      const said = all(each.event)[each.count - 1]
      if (said !== undefined) each.hear(said)
    }
  }
  /** The so-manieth time that this is said. */
  const wait = (event: string, count: number) =>
    Effect.gen(function* () {
      const before = all(event)[count - 1]
      if (before !== undefined) return before
      const deferred = yield* Deferred.make<Said>()
      waiting.push({ event, count, hear: (said) => Deferred.doneUnsafe(deferred, Effect.succeed(said)) })
      return yield* Deferred.await(deferred)
    })
  return { take, all, wait, output: () => output }
}

/** Starts a program that lives as long as the scope. */
export const launch = Effect.fnUntraced(function* (
  name: string,
  command: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.fn.Return<Launched, LocalProcess.SpawnFailed, Scope.Scope> {
  const { all, output, take, wait } = listener(performance.now())
  const running = yield* LocalProcess.spawn({
    command,
    args,
    cwd: "/",
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/", ...env },
    onOutput: take
  })
  const failed = (problem: string) => Effect.fail(new ProgramFailed({ program: name, problem, output: output() }))

  const nth = (event: string, count: number) =>
    Effect.raceFirst(
      wait(event, count),
      Effect.flatMap(running.ended, ({ code }) =>
        Effect.suspend(() => {
          const said = all(event)[count - 1]
          return said === undefined ? failed(`ended with ${code} before "${event}"`) : Effect.succeed(said)
        })
      )
    ).pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => failed(`did not say "${event}"`) }))

  return {
    pid: running.pid,
    said: (event) => nth(event, 1),
    all,
    residentMb: Effect.sync(() => (field(running.pid, "VmRSS") * 1024) / 1e6),
    cpuSeconds: Effect.sync(() => CpuTimes.of(running.pid)),
    collect: Effect.suspend(() => {
      const count = all("gc").length + 1
      return Effect.andThen(running.signal("SIGUSR2"), nth("gc", count))
    }),
    stop: Effect.andThen(running.signal("SIGTERM"), nth("stats", 1)),
    end: Effect.andThen(running.signal("SIGTERM"), Effect.asVoid(running.ended)),
    ended: Effect.flatMap(running.ended, ({ code }) => failed(`ended with ${code}`))
  }
})
