/** Every ```ts block in a source comment, a README or a guide is compiled against the packages as a user imports them. */
import { spawnSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const root = resolve(import.meta.dirname, "../..")
/** Inside the repository, so that the packages resolve as they do for a user. */
const folder = join(root, "node_modules/.cache/berth-examples")

interface Example {
  /** `path:line`. */
  readonly at: string
  readonly code: string
}

/** The blocks of a file; in a source file the comment's leading stars are taken off. */
const examplesOf = (path: string): ReadonlyArray<Example> => {
  const lines = readFileSync(join(root, path), "utf8").split("\n")
  const prefix = path.endsWith(".ts") ? /^\s*\* ?/u : /^/u
  const found: Array<Example> = []
  let open: { readonly line: number; readonly code: Array<string> } | undefined
  for (const [index, raw] of lines.entries()) {
    if (path.endsWith(".ts") && open === undefined && !/^\s*\* ```ts$/u.test(raw)) continue
    const line = raw.replace(prefix, "")
    if (open === undefined && line === "```ts") open = { line: index + 1, code: [] }
    else if (open !== undefined && line === "```") {
      found.push({ at: `${path}:${open.line}`, code: open.code.join("\n") })
      open = undefined
    } else open?.code.push(line)
  }
  return found
}

const files = [
  ...globSync("packages/*/src/**/*.ts", { cwd: root }),
  ...globSync("{README.md,packages/*/README.md,docs/**/*.md,examples/*/README.md}", { cwd: root })
]
const examples = files.toSorted().flatMap(examplesOf)

describe("Documentation", () => {
  it("compiles every example in comments, READMEs and guides", { timeout: 120_000 }, () => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const names = examples.map(({ code }, index) => {
      const name = `example-${index}.ts`
      writeFileSync(join(folder, name), `${code}\nexport {}\n`)
      return name
    })
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
    const config = { extends: join(root, "tsconfig.test.json"), compilerOptions: { plugins: [] }, files: names }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config))

    const { stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder, "--pretty", "false"], {
      encoding: "utf8"
    })
    const problems = stdout
      .split("\n")
      .filter(Boolean)
      .map((line) =>
        line.replace(/^.*example-(\d+)\.ts/u, (whole, index: string) => examples[Number(index)]?.at ?? whole)
      )

    assert.isAbove(examples.length, 0, "no example was found: has the pattern gone wrong?")
    assert.deepStrictEqual(problems, [])
  })
})
