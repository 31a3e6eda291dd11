/**
 * Bundles each program and runs it where nothing else is: a copy of its folder, Node, and no node_modules. That is what an image
 * has.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The arguments, the exit code, and what the program says. */
type Expectation = readonly [ReadonlyArray<string>, number, RegExp]

/** What both run commands begin with. The address is looked at after the kubeconfig and the libraries for it are loaded. */
const running = (name: string): ReadonlyArray<Expectation> => [
  [["--version"], 0, new RegExp(`^${name} v\\d+\\.\\d+\\.\\d+$`, "mu")],
  [["run", "--kubeconfig", "missing"], 1, new RegExp(`^${name}: There is no kubeconfig at missing`, "mu")],
  [
    ["run", "--kubeconfig", "kubeconfig", "--listen", "192.0.2.1:1"],
    1,
    new RegExp(`^${name}: cannot listen on 192\\.0\\.2\\.1:1 `, "mu")
  ]
]

const programs: ReadonlyArray<{
  readonly folder: string
  readonly name: string
  readonly expectations: ReadonlyArray<Expectation>
}> = [
  {
    folder: "operator",
    name: "berth",
    expectations: [
      ...running("berth"),
      [["--help"], 0, /^ {2}sql /mu],
      [["crds"], 0, /^ {2}name: slices\.berth\.dev$/mu],
      [["sql", "--command", "select '"], 2, /^berth: line 1: this ' is not closed$/mu],
      [["sql", "--command", "select 1"], 1, /^berth: cannot connect: .*ECONNREFUSED/mu]
    ]
  },
  {
    folder: "db-provider",
    name: "berth-db-provider",
    expectations: [
      ...running("berth-db-provider"),
      [["--help"], 0, /^ {2}bootstrap-sql /mu],
      [["crds"], 0, /^ {2}name: shards\.db\.berth\.dev$/mu],
      [
        ["bootstrap-sql", "--file", "shard", "--password-env", "PGPASSWORD"],
        0,
        /^ALTER ROLE "berth_provisioner" LOGIN;$/mu
      ],
      [
        ["preflight", "--file", "shard", "--password-env", "PGPASSWORD"],
        3,
        /^berth-db-provider: 127\.0\.0\.1:1: cannot connect/mu
      ],
      [["inventory", "--kubeconfig", "missing"], 3, /^berth-db-provider: There is no kubeconfig at missing/mu]
    ]
  }
]

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{ name: a, cluster: { server: "http://127.0.0.1:1" } }]
users: [{ name: a, user: {} }]
contexts: [{ name: a, context: { cluster: a, user: a } }]
current-context: a
`

const shard = `apiVersion: db.berth.dev/v1alpha1
kind: Shard
metadata: { name: a }
spec:
  primary: { host: 127.0.0.1, port: 1 }
  endpoint: { host: 127.0.0.1 }
  provisionerSecretRef: { name: a, key: password }
`

const env = { PGHOST: "127.0.0.1", PGPORT: "1", PGUSER: "nobody", PGPASSWORD: "a password" }

const problemsOf = ({
  expectations,
  folder: name,
  name: command
}: (typeof programs)[number]): ReadonlyArray<string> => {
  const source = join("packages", name)
  execFileSync(process.execPath, [join("..", "..", "node_modules", "tsup", "dist", "cli-default.js"), "--silent"], {
    cwd: source,
    stdio: "inherit"
  })
  const folder = mkdtempSync(join(tmpdir(), "berth-bundle-"))
  try {
    cpSync(join(source, "dist", "program"), folder, { recursive: true })
    writeFileSync(join(folder, "kubeconfig"), kubeconfig)
    writeFileSync(join(folder, "shard"), shard)
    return expectations.flatMap(([args, code, said]) => {
      const options = { cwd: folder, env, encoding: "utf8" } as const
      const { output, status } = spawnSync(process.execPath, [`${command}.js`, ...args], options)
      const text = output.join("")
      return status === code && said.test(text) ? [] : [`${command} ${args.join(" ")}: exit code ${status}\n${text}`]
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const problems = programs.flatMap(problemsOf)
for (const problem of problems) console.log(problem)
process.exitCode = problems.length === 0 ? 0 : 1
