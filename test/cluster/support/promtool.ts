/** Prometheus' own tool, where the machine has it, asked about the alert rules of a rendered chart. */
import { execFileSync } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect } from "effect"
import { stringify } from "yaml"
import type * as Manifests from "./manifests.ts"

const program = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "promtool"))
  .find((path) => existsSync(path))

export const isThere = program !== undefined

export const notice = (): void =>
  console.warn("alerts are not tried: there is no promtool (apt-get install prometheus)")

/** What was read for a while, and what has to fire at its end. */
export interface Case {
  /** Each metric with its labels, and its values in promtool's own notation, one a minute. */
  readonly series: Readonly<Record<string, string>>
  readonly minutes: number
  readonly firing: ReadonlyArray<string>
}

const testOf = ({ firing, minutes, series }: Case) => ({
  interval: "1m",
  input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
  promql_expr_test: [
    {
      expr: 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0',
      eval_time: `${minutes}m`,
      exp_samples: firing.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 }))
    }
  ]
})

/** Checks every rule of the PrometheusRules among these objects, and what fires in each case. A complaint is a defect. */
export const check = Effect.fnUntraced(function* (
  objects: ReadonlyArray<Manifests.Manifest>,
  cases: ReadonlyArray<Case>
) {
  const folder = yield* LocalProcess.temporaryFolder("berth-promtool")
  const rules = objects.flatMap((object) => (object.kind === "PrometheusRule" && "spec" in object ? [object.spec] : []))
  const files = rules.map((_, index) => `rules-${index}.yaml`)
  const tests = { rule_files: files, evaluation_interval: "1m", tests: cases.map(testOf) }
  yield* Effect.sync(() => {
    rules.forEach((spec, index) => writeFileSync(join(folder, `rules-${index}.yaml`), stringify(spec)))
    writeFileSync(join(folder, "tests.yaml"), stringify(tests))
    execFileSync(program ?? "", ["check", "rules", "--lint-fatal", ...files], { cwd: folder, encoding: "utf8" })
    execFileSync(program ?? "", ["test", "rules", "tests.yaml"], { cwd: folder, encoding: "utf8" })
  })
})
