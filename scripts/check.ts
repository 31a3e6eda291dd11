/**
 * Runs every static check and says at the end which of them passed. Two at a time, since they are single-threaded.
 * `node scripts/check.ts [NAME…]` runs only those named.
 */
import { spawn } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

interface Check {
  readonly name: string
  readonly command: ReadonlyArray<string>
}

const libraries = readdirSync("packages").filter((name) => existsSync(join("packages", name, "package.json")))

/** First alone: what follows reads its output. */
const build: Check = { name: "types", command: ["tsc", "-b"] }

/** Alone as well: a package's command is in the bundle, which publint looks for. */
const bundle: Check = { name: "bundle", command: ["node", "scripts/bundle.ts"] }

const checks: ReadonlyArray<Check> = [
  // As users see them, who may check libraries too: a type that was stripped is missed here only.
  { name: "declarations", command: ["tsc", "-p", "tsconfig.declarations.json"] },
  { name: "lint", command: ["oxlint", "--type-aware", "--deny-warnings"] },
  { name: "format", command: ["oxfmt", "--check", "."] },
  {
    name: "layers",
    command: ["depcruise", "packages", "examples", "test", "scripts", "--config", ".dependency-cruiser.mjs"]
  },
  { name: "unused", command: ["knip"] },
  ...libraries.flatMap((name): ReadonlyArray<Check> => [
    {
      name: `effects:${name}`,
      command: ["effect-language-service", "diagnostics", "--project", `packages/${name}/tsconfig.src.json`]
    },
    { name: `package:${name}`, command: ["publint", "--strict", `packages/${name}`] },
    { name: `exports:${name}`, command: ["attw", "--pack", `packages/${name}`, "--profile", "esm-only"] }
  ])
]

interface Outcome {
  readonly name: string
  readonly passed: boolean
  readonly output: string
}

const run = ({ command: [program = "", ...args], name }: Check): Promise<Outcome> =>
  new Promise((resolve) => {
    const path = program === "node" ? process.execPath : join("node_modules", ".bin", program)
    const child = spawn(path, args, { stdio: ["ignore", "pipe", "pipe"] })
    const chunks: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk))
    const done = (passed: boolean) => resolve({ name, passed, output: Buffer.concat(chunks).toString() })
    child.on("error", () => done(false))
    child.on("close", (code) => done(code === 0))
  })

const outcomes: Array<Outcome> = []
const report = (outcome: Outcome) => {
  outcomes.push(outcome)
  console.log(`${outcome.passed ? "ok    " : "FAILED"} ${outcome.name}`)
  if (!outcome.passed) console.log(outcome.output)
}

const asked = process.argv.slice(2)
const wanted = checks.filter(
  ({ name }) => asked.length === 0 || asked.some((each) => name === each || name.startsWith(`${each}:`))
)
report(await run(build))
if (asked.length === 0 || asked.some((name) => name === "bundle" || name.startsWith("package")))
  report(await run(bundle))
const waiting = [...wanted]
const worker = async (): Promise<void> => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) report(await run(next))
}
await Promise.all([worker(), worker()])

const failed = outcomes.filter(({ passed }) => !passed)
console.log(`checks: ${outcomes.length - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length === 0 ? 0 : 1
