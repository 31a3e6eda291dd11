/** A program of Berth as a process of its own, the way it runs in a cluster: it knows the cluster by a kubeconfig, and nothing else. */
import { fileURLToPath } from "node:url"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Data, Deferred, Effect, type Scope } from "effect"

const repository = fileURLToPath(new URL("../../../", import.meta.url))

const { HOME = "/", NODE_COMPILE_CACHE, PATH = "" } = process.env

/** Where Node keeps what it has compiled, if anywhere: the same programs are started again and again. */
export const compileCache: Readonly<Record<string, string>> =
  NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }

export class ProgramEnded extends Data.TaggedError("ProgramEnded")<{
  readonly program: string
  readonly code: number
  readonly output: string
}> {
  override get message() {
    // As shells count: 128 and the number of the signal.
    const end = this.code > 128 ? `was killed by signal ${this.code - 128}` : `ended with exit code ${this.code}`
    return `The ${this.program} ${end}. Its last words:\n${this.output.trim().split("\n").slice(-10).join("\n")}`
  }
}

export interface ProgramProcess {
  /** Where it serves, as it said. */
  readonly address: string
  /** Fails when the process ends; it does not while all is well. */
  readonly watched: Effect.Effect<never, ProgramEnded>
  /** Ends it without a warning, as a node that loses power does. */
  readonly kill: Effect.Effect<void>
}

export interface Options {
  /** What people call it. */
  readonly program: string
  readonly main: string
  readonly args: ReadonlyArray<string>
  /** How it says where it serves. */
  readonly says: RegExp
  /** Gets all that it says. */
  readonly log?: ((chunk: Buffer) => void) | undefined
}

/** How a program is started from its sources. */
export const command = (main: string) => ({ program: process.execPath, args: ["--conditions=@berth/source", main] })

/** What is kept of the log, for the case that the process ends. */
const outputMax = 8_192

/** There is only one, and who starts another one after its death does not wait until its Lease has run out. The log is for people. */
const settings = ["--no-leader-elect", "--listen", "127.0.0.1:0", "--log-format", "text", "--log-level", "debug"]

/** Starts it and waits until it serves; it ends with the scope. */
export const start = Effect.fn("ProgramProcess.start")(function* ({
  args,
  log = () => undefined,
  main,
  program,
  says
}: Options): Effect.fn.Return<ProgramProcess, ProgramEnded | LocalProcess.SpawnFailed, Scope.Scope> {
  const serving = yield* Deferred.make<string>()
  let said = ""
  const sources = command(main)
  const process_ = yield* LocalProcess.spawn({
    command: sources.program,
    args: [...sources.args, "run", ...args, ...settings],
    cwd: repository,
    env: { ...compileCache, PATH, HOME },
    onOutput: (chunk) => {
      log(chunk)
      said = (said + chunk.toString()).slice(-outputMax)
      const address = says.exec(said)?.[1]
      if (address !== undefined) Deferred.doneUnsafe(serving, Effect.succeed(address))
    }
  })
  // A graceful end, before the scope ends what is left.
  yield* Effect.addFinalizer(() =>
    Effect.andThen(process_.signal("SIGTERM"), Effect.timeoutOption(process_.ended, "25 seconds"))
  )
  const watched = Effect.flatMap(process_.ended, ({ code }) =>
    Effect.fail(new ProgramEnded({ program, code, output: said }))
  )
  return {
    address: yield* Effect.raceFirst(Deferred.await(serving), watched),
    watched,
    kill: Effect.andThen(process_.signal("SIGKILL"), Effect.asVoid(process_.ended))
  }
})
