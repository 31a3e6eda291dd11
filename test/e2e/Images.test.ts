/** What the images of both programs are made of. No image is built here: there need not be a Docker. */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, readFileSync, statSync } from "node:fs"
import { basename, delimiter, join } from "node:path"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as berth from "../../packages/operator/test/support/berth.ts"

const root = join(import.meta.dirname, "../..")

const programs = [
  { folder: "operator", name: "berth" },
  { folder: "db-provider", name: "berth-db-provider" }
]

/** What the image's build stage makes. */
const built = (folder: string) => join(root, "packages", folder, "dist/program")

/** What the image has at this path, once the Dockerfile has copied it there. */
const copied = Effect.fnUntraced(function* (folder: string) {
  const into = join(yield* LocalProcess.temporaryFolder("berth-image"), "program")
  cpSync(built(folder), into, { recursive: true })
  return into
})

const dockerfile = (folder: string) => readFileSync(join(root, "packages", folder, "Dockerfile"), "utf8")

/** The first Node on the PATH that is not the one of this repository. */
const machineNode = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .map((folder) => join(folder, "node"))
  .find((path) => existsSync(path))

const versionOf = (node: string) => execFileSync(node, ["--version"], { encoding: "utf8" }).trim().slice(1)

const old = machineNode !== undefined && Number.parseInt(versionOf(machineNode), 10) < 22 ? machineNode : undefined

describe("The images", () => {
  beforeAll(() => {
    for (const { folder } of programs) {
      const tsup = join(root, "node_modules/tsup/dist/cli-default.js")
      execFileSync(process.execPath, [tsup, "--silent"], { cwd: join(root, "packages", folder), stdio: "inherit" })
    }
  }, 300_000)

  it.live.each(programs)("copy what there is, and start $name as nobody in particular", ({ folder, name }) =>
    Effect.gen(function* () {
      const text = dockerfile(folder)
      const [, from, to] = /^COPY --from=build (\S+) (\S+)$/mu.exec(text) ?? []
      const [, entry = "[]"] = /^ENTRYPOINT (\[.*\])$/mu.exec(text) ?? []
      const [, link] = /ln -s (\S+) \/usr\/local\/bin\/\S+$/mu.exec(text) ?? []
      const program = yield* copied(folder)
      const started = yield* berth.run(["--version"], {
        command: [process.execPath, join(program, `${name}.js`)]
      })

      assert.strictEqual(from, `/src/packages/${folder}/dist/program`)
      assert.match(text, new RegExp(`npm run build --workspace packages/${folder}$`, "mu"))
      assert.deepStrictEqual(entry, `["node", "${to}/${name}.js"]`)
      assert.strictEqual(link, `${to}/${name}.js`)
      assert.match(text, /^USER [1-9]\d*:[1-9]\d*$/mu)
      // It is called by its own name, too, in Jobs and by administrators.
      assert.strictEqual(statSync(join(program, basename(link ?? ""))).mode & 0o111, 0o111)
      assert.deepStrictEqual([started.code, started.stdout.startsWith(`${name} v`)], [0, true], started.stderr)
    }).pipe(Effect.scoped)
  )

  for (const { folder, name } of programs) {
    it.live.skipIf(old === undefined)(`${name} says on a Node that is too old which one is needed`, () =>
      Effect.gen(function* () {
        const node = old ?? "node"
        const program = yield* copied(folder)

        const ended = yield* berth.run(["run"], { command: [node, join(program, `${name}.js`)] })

        assert.deepStrictEqual(ended, {
          code: 2,
          stdout: "",
          stderr: `${name}: this is Node ${versionOf(node)}, and Node 22.19 or newer is needed\n`
        })
      }).pipe(Effect.scoped)
    )
  }

  it.each(programs)("are built as the guide says: $name", ({ folder }) => {
    const guide = folder === "operator" ? "operator" : "db-provider-install"
    const commands = readFileSync(join(root, `docs/guides/${guide}.md`), "utf8").match(/^docker build .*$/gmu) ?? []

    assert.deepStrictEqual(
      commands.map((command) => /--file (\S+)/u.exec(command)?.[1]),
      [`packages/${folder}/Dockerfile`]
    )
  })
})
