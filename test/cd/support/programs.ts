/** The programs of `binaries/`, each built when it is first asked for and found in the user's cache ever after. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { Effect } from "effect"

type Module = "helm3" | "helm4" | "argocd" | "flux-helm" | "flux-source"

/** A cold build of one of them takes up to six minutes on two cores. */
export const buildTimeoutMs = 20 * 60_000

/** The folder that the module's program is in. */
export const built = (module: Module): Effect.Effect<string> =>
  Effect.sync(() => {
    const build = join(import.meta.dirname, "..", "binaries", "build.sh")
    return execFileSync(build, [module], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim()
  })
