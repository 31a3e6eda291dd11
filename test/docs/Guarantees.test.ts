/** What is published as kept is named by a test, and what a test names is published so. */
import { globSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Markdown from "../support/markdown.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const files = { "db-provider": "D", kube: "K", provisioners: "P", "shared-components": "S", testing: "T" }

/** The rules that a title begins with: `"P9: …"`, `"P9, P12: …"`. */
const titles = /["'`]([DKPST]\d+(?:, [DKPST]\d+)*): /gu
const named = new Set(
  globSync("{packages,test,examples}/**/*.{test,bench}.ts", { cwd: root, exclude: ["**/node_modules", "**/dist"] })
    .map(Markdown.read)
    .flatMap((source) => [...source.matchAll(titles)])
    .flatMap(([, ids = ""]) => ids.split(", "))
)

const published = Object.entries(files).map(([name, letter]) => ({
  name,
  letter,
  rules: [
    ...Markdown.read(`docs/guarantees/${name}.md`).matchAll(/^\*\*([A-Z]\d+)\*\* \((kept|in part|not yet)\)\. /gmu)
  ].map(([, id = "", state = ""]) => ({ id, state }))
}))

describe("Guarantees", () => {
  it.each(published)("of $name are numbered without a gap", ({ letter, rules }) => {
    assert.deepStrictEqual(
      rules.map(({ id }) => id),
      rules.map((_, index) => `${letter}${index + 1}`)
    )
  })

  it.each(published)("of $name are marked as kept where a test is named after them, and only there", ({ rules }) => {
    const states = rules.map(({ id, state }) => `${id} ${state === "not yet" ? "has no test" : "has a test"}`)

    assert.deepStrictEqual(
      states,
      rules.map(({ id }) => `${id} ${named.has(id) ? "has a test" : "has no test"}`)
    )
  })

  it.each(published)("of $name that its README names exist and are kept", ({ letter, name, rules }) => {
    const claims = [...Markdown.read(`packages/${name}/README.md`).matchAll(/^- ([DKPST]\d+(?:, [DKPST]\d+)*): /gmu)]
      .flatMap(([, ids = ""]) => ids.split(", "))
      .filter((id) => id.startsWith(letter))

    const kept = new Set(rules.filter(({ state }) => state !== "not yet").map(({ id }) => id))
    assert.deepStrictEqual([...new Set(claims)].filter((id) => !kept.has(id)).toSorted(), [])
  })
})
