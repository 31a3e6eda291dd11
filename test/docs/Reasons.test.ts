/** The page of all reasons is what the code declares. */
import { globSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { page, vocabularies } from "../../scripts/reasons.ts"
import * as Markdown from "../support/markdown.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

describe("docs/concepts/reasons.md", () => {
  it("P3: lists every reason as it is declared", { timeout: 30_000 }, async () => {
    const written = Markdown.read("docs/concepts/reasons.md")

    assert.strictEqual(written, await page(), "run: npx node --conditions=@berth/source scripts/reasons.ts")
  })

  it("P3: every vocabulary of a package is exported, so that it is on the page and can be told apart", async () => {
    const declared = globSync("packages/*/src/**/*.ts", { cwd: root })
      .map(Markdown.read)
      .flatMap((source) => [...source.matchAll(/^export const \w+ = (?:Disposition\.)?vocabulary\("(\w+)"/gmu)])
      .map(([, name = ""]) => name)

    const listed = (await vocabularies()).map(({ name }) => name)

    assert.deepStrictEqual(listed.toSorted(), declared.toSorted())
  })
})
