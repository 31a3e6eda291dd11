/** The real helm, on the charts of this repository. */
import { execFile, execFileSync } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Cluster from "@berth/testing/Cluster"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect } from "effect"

const folderOf = (chart: string) => fileURLToPath(new URL(`../../../charts/${chart}`, import.meta.url))

/** Of the operator, and of the database provider. */
export const chart = folderOf("berth-operator")
export const providerChart = folderOf("berth-db-provider")

const build = fileURLToPath(new URL("../../cd/binaries/build.sh", import.meta.url))

/** Where it is, built first where it was not yet; undefined on a machine that cannot build it. */
export const find = (): string | undefined => {
  try {
    return join(
      execFileSync(build, ["helm4"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim(),
      "helm"
    )
  } catch {
    return undefined
  }
}

export interface Ended {
  readonly code: number
  /** Both streams. */
  readonly output: string
}

/** Runs it on the cluster at hand; `said` is what it printed, and a failure is a defect. */
export const make = Effect.fnUntraced(function* (program: string) {
  const { kubeconfigFile } = yield* Cluster.Cluster
  const home = yield* LocalProcess.temporaryFolder("berth-helm")
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, KUBECONFIG: yield* kubeconfigFile }
  const ended = (args: ReadonlyArray<string>): Effect.Effect<Ended> =>
    Effect.callback((resume, signal) => {
      execFile(program, args, { env, signal, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1
        resume(Effect.succeed({ code, output: code === 0 ? stdout : stdout + stderr }))
      })
    })
  const said = (...args: ReadonlyArray<string>): Effect.Effect<string> =>
    Effect.flatMap(ended(args), ({ code, output }) =>
      code === 0 ? Effect.succeed(output) : Effect.die(new Error(`helm ${args.join(" ")}: ${output}`))
    )
  return { ended, said }
})
