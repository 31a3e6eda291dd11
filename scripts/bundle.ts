/**
 * Bundles the operator's program and runs it where nothing else is: a copy of the folder, Node, and no node_modules. That is
 * what an image has.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const source = join("packages", "operator")

/** The arguments, the exit code, and what the program says. */
const expectations: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
  [["--version"], 0, /^berth v\d+\.\d+\.\d+$/mu],
  [["--help"], 0, /^ {2}sql /mu],
  [["crds"], 0, /^ {2}name: slices\.berth\.dev$/mu],
  [["sql", "--command", "select '"], 1, /^berth: line 1: this ' is not closed$/mu],
  [["sql", "--command", "select 1"], 2, /^berth: cannot connect: .*ECONNREFUSED/mu],
  [["run", "--kubeconfig", "missing"], 1, /^berth: There is no kubeconfig at missing/mu],
  // The address is looked at after the kubeconfig has been read and the libraries for it are loaded.
  [["run", "--kubeconfig", "kubeconfig", "--listen", "192.0.2.1:1"], 1, /^berth: cannot listen on 192\.0\.2\.1:1 /mu]
]

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{ name: a, cluster: { server: "http://127.0.0.1:1" } }]
users: [{ name: a, user: {} }]
contexts: [{ name: a, context: { cluster: a, user: a } }]
current-context: a
`

execFileSync(process.execPath, [join("..", "..", "node_modules", "tsup", "dist", "cli-default.js"), "--silent"], {
  cwd: source,
  stdio: "inherit"
})
const folder = mkdtempSync(join(tmpdir(), "berth-bundle-"))
try {
  cpSync(join(source, "dist", "program"), folder, { recursive: true })
  writeFileSync(join(folder, "kubeconfig"), kubeconfig)
  const env = { PGHOST: "127.0.0.1", PGPORT: "1", PGUSER: "nobody" }
  const problems = expectations.flatMap(([args, code, said]) => {
    const { output, status } = spawnSync(process.execPath, ["berth.js", ...args], {
      cwd: folder,
      env,
      encoding: "utf8"
    })
    const text = output.join("")
    return status === code && said.test(text) ? [] : [`berth ${args.join(" ")}: exit code ${status}\n${text}`]
  })
  for (const problem of problems) console.log(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
