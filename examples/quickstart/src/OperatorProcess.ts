/** The operator as a process of its own, the way it runs in a cluster: it knows the cluster by a kubeconfig, and nothing else. */
import { fileURLToPath } from "node:url"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Data, Deferred, Effect, Scope } from "effect"

const repository = fileURLToPath(new URL("../../../", import.meta.url))

/** How the `berth` command is started from its sources. */
export const command = {
  program: process.execPath,
  args: [
    "--conditions=@berth/source",
    fileURLToPath(new URL("../../../packages/operator/src/main.ts", import.meta.url))
  ]
}

/** A folder with a program `berth`, for the Jobs: their image is the operator's. */
export const imageFolder = fileURLToPath(new URL("../bin", import.meta.url))

const { HOME = "/", NODE_COMPILE_CACHE, PATH = "" } = process.env

/** Where Node keeps what it has compiled, if anywhere: the same programs are started again and again. */
const compileCache: Readonly<Record<string, string>> = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }

/** What that program needs to know. */
export const imageEnvironment: Readonly<Record<string, string>> = {
  ...compileCache,
  BERTH_NODE: command.program,
  BERTH_MAIN: command.args.at(-1) ?? ""
}

export class OperatorEnded extends Data.TaggedError("OperatorEnded")<{
  readonly code: number
  readonly output: string
}> {
  override get message() {
    // As shells count: 128 and the number of the signal.
    const end = this.code > 128 ? `was killed by signal ${this.code - 128}` : `ended with exit code ${this.code}`
    return `The operator ${end}. Its last words:\n${this.output.trim().split("\n").slice(-10).join("\n")}`
  }
}

export interface OperatorProcess {
  /** Where `/readyz` and `/metrics` are. */
  readonly url: string
  /** Fails when the process ends; it does not while all is well. */
  readonly watched: Effect.Effect<never, OperatorEnded>
  /** Ends it without a warning, as a node that loses power does. */
  readonly kill: Effect.Effect<void>
}

/** What is kept of the log, for the case that the process ends. */
const outputMax = 8_192

/** A free port, and a log that tells what the operator does, for people. */
const settings = ["--listen", "127.0.0.1:0", "--log-format", "text", "--log-level", "debug"]

/** Starts the operator and waits until it serves; it ends with the scope. `log` gets all that it says. */
export const start = Effect.fn("OperatorProcess.start")(function* (
  kubeconfig: string,
  log: (chunk: Buffer) => void = () => undefined
): Effect.fn.Return<OperatorProcess, OperatorEnded | LocalProcess.SpawnFailed, Scope.Scope> {
  const listening = yield* Deferred.make<string>()
  let said = ""
  const process_ = yield* LocalProcess.spawn({
    command: command.program,
    // There is only one, and who starts another one after its death does not wait until its Lease has run out.
    args: [...command.args, "run", "--kubeconfig", kubeconfig, "--no-leader-elect", ...settings],
    cwd: repository,
    env: { ...compileCache, PATH, HOME },
    onOutput: (chunk) => {
      log(chunk)
      said = (said + chunk.toString()).slice(-outputMax)
      const address = /health and metrics are on ([^\s"]+)/u.exec(said)?.[1]
      if (address !== undefined) Deferred.doneUnsafe(listening, Effect.succeed(address))
    }
  })
  // A graceful end, before the scope ends what is left.
  yield* Effect.addFinalizer(() =>
    Effect.andThen(process_.signal("SIGTERM"), Effect.timeoutOption(process_.ended, "25 seconds"))
  )
  const watched = Effect.flatMap(process_.ended, ({ code }) => Effect.fail(new OperatorEnded({ code, output: said })))
  const address = yield* Effect.raceFirst(Deferred.await(listening), watched)
  return {
    url: `http://${address}`,
    watched,
    kill: Effect.andThen(process_.signal("SIGKILL"), Effect.asVoid(process_.ended))
  }
})
