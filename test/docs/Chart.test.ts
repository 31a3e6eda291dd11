/** What the charts and the operator's guide take from the code is what the code says. */
import { globSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as ProviderMetrics from "@berth/db-provider/ProviderMetrics"
import * as Metrics from "@berth/kube/Metrics"
import { assert, describe, it } from "@effect/vitest"
import { Metric } from "effect"
import { parse } from "yaml"
import { files } from "../../scripts/chart.ts"
import * as Alerts from "./support/alerts.ts"
import * as Markdown from "../support/markdown.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

const charts = [
  { name: "berth-operator", program: "operator", prefix: "BERTH_", metrics: Object.values(Metrics) },
  {
    name: "berth-db-provider",
    program: "db-provider",
    prefix: "BERTH_DB_",
    metrics: [...Object.values(Metrics), ...Object.values(ProviderMetrics)]
  }
].map((each) => ({ ...each, chart: `charts/${each.name}` }))

const made = files()

describe("The charts", () => {
  it.each(made.map(({ path, text }) => ({ path, text })))("have in $path what the code declares", ({ path, text }) => {
    assert.strictEqual(Markdown.read(path), text, "run: npx node --conditions=@berth/source scripts/chart.ts")
  })
})

describe.each(charts)("The chart $name", ({ chart, metrics, prefix, program }) => {
  const templates = globSync(`${chart}/templates/*`, { cwd: root })

  it("has the kinds of the code, and no others", () => {
    const paths = made.map(({ path }) => path)

    assert.deepStrictEqual(
      globSync(`${chart}/files/crds/*`, { cwd: root }).filter((path) => !paths.includes(path)),
      []
    )
  })

  it("has the version of the program that it runs", () => {
    const { version }: { readonly version: string } = JSON.parse(Markdown.read(`packages/${program}/package.json`))
    const { appVersion }: { readonly appVersion: string } = parse(Markdown.read(join(chart, "Chart.yaml")))

    assert.strictEqual(appVersion, version)
  })

  it("sets variables that the program knows", () => {
    const text = Markdown.read(join(chart, "templates/deployment.yaml"))
    const set = [...text.matchAll(/name: (BERTH_\w+)/gu)].map(([, name = ""]) => name)
    const known = Markdown.read(`packages/${program}/src/Configuration.ts`)

    assert.isAbove(set.length, 8)
    assert.deepStrictEqual(
      set.filter((name) => !name.startsWith(prefix) || !known.includes(`| \`${name}\` |`)),
      []
    )
  })

  it("D23: warns by metrics that there are, and by labels that they have", () => {
    const alerts = Alerts.of(Markdown.read(join(chart, "templates/prometheusrule.yaml")))
    const declared = new Set(metrics.flatMap((each) => (Metric.isMetric(each) ? [each.id] : [])))

    assert.isAbove(alerts.length, 4)
    for (const { metrics, name, problems, summary } of alerts) {
      assert.deepStrictEqual(problems, [], name)
      assert.isAbove(metrics.length, 0, name)
      assert.deepStrictEqual(
        metrics
          .map((metric) => metric.replace(/_(?:bucket|count|sum)$/u, ""))
          .filter((metric) => !declared.has(metric)),
        [],
        name
      )
      assert.match(summary, /\.$/u, name)
    }
  })

  it("gives the Pod five seconds more than its time of grace, at least", () => {
    const text = Markdown.read(join(chart, "templates/deployment.yaml"))
    const [, settings = "", more] = /terminationGracePeriodSeconds: \{\{ add (.*) (\d+) \}\}/u.exec(text) ?? []

    assert.isAtLeast(Number(more), 5)
    // Whatever the program is told to take.
    const told = [...text.matchAll(/"%d seconds" \(int (\.Values\.\w+Seconds)\)/gu)].map(([, name = ""]) => name)
    assert.sameMembers(settings.split(" "), told)
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
