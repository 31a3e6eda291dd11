/** The `berth` command as a process of its own, from the sources. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Deferred, Effect, type Scope } from "effect"

/** What runs the command, and its first arguments. */
type Command = readonly [string, ...ReadonlyArray<string>]

export const sources: Command = [
  process.execPath,
  "--conditions=@berth/source",
  fileURLToPath(new URL("../../src/main.ts", import.meta.url))
]

/** What a process has compiled the next one need not: half of its start. */
const compileCache = fileURLToPath(new URL("../../../../node_modules/.cache/berth-test", import.meta.url))

/** Only these variables are set, and those that are given. */
const environment = (given: Readonly<Record<string, string>>) => ({
  PATH: process.env["PATH"] ?? "",
  NODE_COMPILE_CACHE: compileCache,
  // Not the home of whoever runs the tests, with a kubeconfig of theirs.
  HOME: "/nonexistent",
  ...given
})

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Options {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly stdin?: string | undefined
  /** Default: from the sources. */
  readonly command?: Command | undefined
}

/** Runs it to its end. */
export const run = (
  args: ReadonlyArray<string>,
  { command: [program, ...first] = sources, env = {}, stdin = "" }: Options = {}
): Effect.Effect<Ended> =>
  Effect.callback((resume, signal) => {
    const options = { env: environment(env), signal, maxBuffer: 64 * 1024 * 1024 }
    const child = execFile(program, [...first, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1
      resume(Effect.succeed({ code, stdout, stderr }))
    })
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(stdin)
  })

export interface Started {
  readonly process: LocalProcess.Running
  /** Everything that it has said so far. */
  readonly output: () => string
  /** The first match in its output, as soon as it is there. */
  readonly says: (pattern: RegExp) => Effect.Effect<RegExpExecArray>
}

/** Starts it; it ends with the scope. */
export const start = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  { command: [program, ...first] = sources, env = {} }: Omit<Options, "stdin"> = {}
): Effect.fn.Return<Started, LocalProcess.SpawnFailed, Scope.Scope> {
  let output = ""
  const awaited = new Map<RegExp, Deferred.Deferred<RegExpExecArray>>()
  const look = (pattern: RegExp, found: Deferred.Deferred<RegExpExecArray>) => {
    const match = pattern.exec(output)
    if (match !== null) Deferred.doneUnsafe(found, Effect.succeed(match))
  }
  const started = yield* LocalProcess.spawn({
    command: program,
    args: [...first, ...args],
    env: environment(env),
    cwd: "/",
    onOutput: (chunk) => {
      output += chunk.toString()
      for (const [pattern, found] of awaited) look(pattern, found)
    }
  })
  const says = (pattern: RegExp) =>
    Effect.suspend(() => {
      const found = Deferred.makeUnsafe<RegExpExecArray>()
      awaited.set(pattern, found)
      look(pattern, found)
      return Deferred.await(found)
    })
  return { process: started, output: () => output, says }
})
