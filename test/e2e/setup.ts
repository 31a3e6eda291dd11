/**
 * Makes what the image of the database provider has, once: a copy of the bundle, which nobody makes anew meanwhile. BERTH_TEST_PROVIDER
 * names a folder that has it already.
 */
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

export const setup = () => {
  if (process.env["BERTH_TEST_PROVIDER"] !== undefined) return undefined
  const source = join(root, "packages/db-provider")
  const image = mkdtempSync(join(tmpdir(), "berth-e2e-"))
  execFileSync(process.execPath, [join(root, "node_modules/tsup/dist/cli-default.js"), "--silent"], {
    cwd: source,
    stdio: "inherit"
  })
  cpSync(join(source, "dist/program"), image, { recursive: true })
  process.env["BERTH_TEST_PROVIDER"] = image
  return () => rmSync(image, { recursive: true, force: true })
}
