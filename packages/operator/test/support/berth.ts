/** The `berth` command as a process of its own, from the sources. */
import { fileURLToPath } from "node:url"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Deferred, Effect, type Scope } from "effect"

/** `node` and what it needs to run the command. */
export const command: readonly [string, ...ReadonlyArray<string>] = [
  process.execPath,
  "--conditions=@berth/source",
  fileURLToPath(new URL("../../src/main.ts", import.meta.url))
]

export interface Started {
  readonly process: LocalProcess.Running
  /** Everything that it has said so far. */
  readonly output: () => string
  /** The first match in its output, as soon as it is there. */
  readonly says: (pattern: RegExp) => Effect.Effect<RegExpExecArray>
}

/** Starts it; it ends with the scope. Only these variables are set. */
export const start = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
  [program, ...first]: readonly [string, ...ReadonlyArray<string>] = command
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
    env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", ...env },
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

/** Runs it to its end. */
export const run = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
) {
  const { output, process } = yield* start(args, env)
  const { code } = yield* process.ended
  return { code, output: output() }
}, Effect.scoped)
