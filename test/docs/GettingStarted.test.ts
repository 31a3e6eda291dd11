/** The guide quotes the example as it is, and names commands that the example's own test runs. */
import { globSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const root = resolve(import.meta.dirname, "../..")
const read = (path: string) => readFileSync(resolve(root, path), "utf8")
const example = resolve(root, "examples/controller")

const blocks = (text: string, language: string): ReadonlyArray<string> =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gmsu"))].map(([, code = ""]) => code)

/** How far a quotation is set in is up to the page. */
const flush = (code: string) => code.replace(/^ +/gmu, "")

describe("Getting started", () => {
  const guide = read("docs/guides/getting-started.md")

  it("quotes the example word for word", () => {
    const sources = globSync("{src,test}/*.ts", { cwd: example }).map((path) => read(`examples/controller/${path}`))
    const quotes = blocks(guide, "typescript")
    const wrong = quotes.filter((quote) => !sources.some((source) => flush(source).includes(flush(quote))))

    assert.isAbove(quotes.length, 5)
    assert.deepStrictEqual(wrong, [])
  })

  it("names the commands of the example's README", () => {
    const readme = read("examples/controller/README.md")
    const commands = blocks(guide, "sh").flatMap((block) => block.split("\n").filter((line) => line !== ""))
    const unknown = commands.filter((command) => !readme.includes(`\n${command}\n`))

    assert.isAbove(commands.length, 3)
    assert.deepStrictEqual(unknown, [])
  })

  it("shows the manifest of the example in its README", () => {
    assert.include(read("examples/controller/README.md"), read("examples/controller/manifests/acme.yaml"))
  })
})
