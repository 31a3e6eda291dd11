/** What the embedded API is known to do otherwise is what its document lists, no more and no less. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Markdown from "../support/markdown.ts"

const folder = import.meta.dirname
const [, listed = ""] = Markdown.read("docs/embedded-api.md").split("The rest are differences")

/** As the cases say it. */
const tried = readdirSync(folder)
  .filter((name) => name.endsWith(".test.ts"))
  .flatMap((name) => [...readFileSync(join(folder, name), "utf8").matchAll(/^ +differs: "([^"]+)"/gmu)])
  .map(([, sentence = ""]) => sentence)

describe("The differences of the embedded API", () => {
  it("T4: are each tried by a case, and each listed", () => {
    const sentences = [...listed.matchAll(/^- (.+)$/gmu)].map(([, sentence = ""]) => sentence)

    assert.isNotEmpty(tried)
    assert.sameMembers(sentences, [...new Set(tried)])
  })
})
