/** One control plane for all suites of `npm run test:cluster`, unless BERTH_TEST_KUBECONFIG names a cluster already. */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as ControlPlane from "@berth/testing/ControlPlane"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect, Exit, Scope } from "effect"
import type { TestProject } from "vitest/node"

const started = Effect.gen(function* () {
  const build = join(import.meta.dirname, "binaries", "build.sh")
  const binaries = execFileSync(build, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim()
  const { kubeconfig } = yield* ControlPlane.make({ binaries })
  const file = join(yield* LocalProcess.temporaryFolder("berth-test"), "kubeconfig")
  writeFileSync(file, kubeconfig, { mode: 0o600 })
  return { binaries, file }
})

export const setup = async (_project: TestProject) => {
  if (process.env["BERTH_TEST_KUBECONFIG"] !== undefined) return undefined
  const scope = Effect.runSync(Scope.make())
  const { binaries, file } = await Effect.runPromise(Scope.provide(started, scope))
  process.env["BERTH_TEST_KUBECONFIG"] = file
  process.env["KUBEBUILDER_ASSETS"] = binaries
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}
