/** What the operator's chart and guide take from the code is what the code says. */
import { globSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Metrics from "@berth/kube/Metrics"
import { assert, describe, it } from "@effect/vitest"
import { Metric } from "effect"
import { parse } from "yaml"
import { files } from "../../scripts/chart.ts"
import * as Markdown from "../support/markdown.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const chart = "charts/berth-operator"
const templates = globSync(`${chart}/templates/*`, { cwd: root })

describe("The chart", () => {
  it.each(files().map(({ path, text }) => ({ path, text })))(
    "has in $path what the code declares",
    ({ path, text }) => {
      assert.strictEqual(Markdown.read(path), text, "run: npx node --conditions=@berth/source scripts/chart.ts")
    }
  )

  it("has the kinds of the code, and no others", () => {
    const made = files().map(({ path }) => path)

    assert.deepStrictEqual(
      globSync(`${chart}/files/crds/*`, { cwd: root }).filter((path) => !made.includes(path)),
      []
    )
  })

  it("has the version of the program that it runs", () => {
    const { version }: { readonly version: string } = JSON.parse(Markdown.read("packages/operator/package.json"))
    const { appVersion }: { readonly appVersion: string } = parse(Markdown.read(join(chart, "Chart.yaml")))

    assert.strictEqual(appVersion, version)
  })

  it("sets variables that the program knows", () => {
    const set = [...Markdown.read(join(chart, "templates/deployment.yaml")).matchAll(/name: (BERTH_\w+)/gu)]
    const known = Markdown.read("packages/operator/src/Configuration.ts")

    assert.isAbove(set.length, 8)
    assert.deepStrictEqual(
      set.map(([, name = ""]) => name).filter((name) => !known.includes(`| \`${name}\` |`)),
      []
    )
  })

  it("warns by metrics that there are", () => {
    const used = [...Markdown.read(join(chart, "templates/prometheusrule.yaml")).matchAll(/(\w+)\{ \{\{- \$mine/gu)]
    const declared = new Set(Object.values(Metrics).flatMap((each) => (Metric.isMetric(each) ? [each.id] : [])))

    assert.isAbove(used.length, 4)
    assert.deepStrictEqual(
      used.map(([, name = ""]) => name).filter((name) => !declared.has(name)),
      []
    )
  })

  it("gives the Pod five seconds more than its time of grace, at least", () => {
    const [, more] = /\.Values\.graceSeconds (\d+)/u.exec(Markdown.read(join(chart, "templates/deployment.yaml"))) ?? []

    assert.isAtLeast(Number(more), 5)
  })

  it("has a type for every setting, and uses each", () => {
    const values: Readonly<Record<string, unknown>> = parse(Markdown.read(join(chart, "values.yaml")))
    const schema: { readonly properties: object } = JSON.parse(Markdown.read(join(chart, "values.schema.json")))
    const text = templates.map(Markdown.read).join("\n")

    const names = Object.keys(values)
    assert.sameMembers(
      Object.keys(schema.properties).filter((name) => name !== "global"),
      names
    )
    assert.deepStrictEqual(
      names.filter((name) => !text.includes(`.Values.${name}`)),
      []
    )
  })
})
