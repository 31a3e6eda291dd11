#!/usr/bin/env node
/** Stands for `helm`: takes the arguments that the driver gives, and does what Helm does. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { callTo, credentials, HelmError, type Json, releaseOf } from "./fakeReleases.ts"

const [verb = "", ...rest] = process.argv.slice(2)
const [name = ""] = rest.slice(rest.indexOf("--") + 1)
const after = (flag: string): string => rest[rest.indexOf(flag) + 1] ?? ""

const config = JSON.parse(readFileSync(process.env["KUBECONFIG"] ?? "", "utf8"))
const { as, token } = config.users[0].user
const call = callTo(config.clusters[0].cluster.server, credentials(token, as))
const release = releaseOf(call, after("--namespace"), name)

const upgrade = () => {
  const version = after("--version")
  if (!existsSync(join(fileURLToPath(after("--repo")), `demo-${version}.tgz`))) {
    throw new HelmError(`chart "demo" version "${version}" not found in ${after("--repo")} repository`)
  }
  return release.upgrade({
    values: JSON.parse(readFileSync(after("--values"), "utf8")) as Json,
    version,
    labels: Object.fromEntries(
      after("--labels")
        .split(",")
        .map((pair) => pair.split("="))
    ),
    historyMax: Number(after("--history-max"))
  })
}

try {
  await (verb === "upgrade" ? upgrade() : release.uninstall(rest.includes("--keep-history")))
} catch (error) {
  if (!(error instanceof HelmError)) throw error
  process.stderr.write(`Error: ${error.message}\n`)
  process.exitCode = 1
}
