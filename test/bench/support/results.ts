/** What was measured, as JSON and as a table. */
import { mkdirSync, writeFileSync } from "node:fs"
import { cpus, loadavg, totalmem } from "node:os"
import { dirname } from "node:path"

/** One figure of Berth, and of what it is compared with: the same program with controller-runtime, or the same work by hand. */
export interface Measure {
  readonly what: string
  readonly unit: string
  readonly berth: number
  /** Undefined where there is nothing to compare with, or that was not measured. */
  readonly other?: number | undefined
  /** What Berth aims at: a ratio to the other figure of the same run, or a figure of its own. */
  readonly aim?:
    | { readonly ratio: "least" | "most"; readonly than: number }
    | { readonly own: "least" | "most"; readonly than: number }
    | undefined
}

export interface Result {
  readonly benchmark: string
  readonly measures: ReadonlyArray<Measure>
}

export const ratioOf = ({ berth, other }: Measure): number | undefined =>
  other === undefined ? undefined : berth / other

/** Undefined where nothing is aimed at, or where there is nothing to compare with. */
export const reached = (measure: Measure): boolean | undefined => {
  const { aim, berth } = measure
  if (aim === undefined) return undefined
  const value = "ratio" in aim ? ratioOf(measure) : berth
  if (value === undefined) return undefined
  return ("ratio" in aim ? aim.ratio : aim.own) === "least" ? value >= aim.than : value <= aim.than
}

const figure = (value: number | undefined): string => {
  if (value === undefined) return ""
  return value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3)
}

const aimOf = ({ aim, unit }: Measure): string => {
  if (aim === undefined) return ""
  return "ratio" in aim ? `at ${aim.ratio} ${aim.than}` : `at ${aim.own} ${aim.than} ${unit}`
}

const row = (benchmark: string, measure: Measure): ReadonlyArray<string> => {
  const ratio = ratioOf(measure)
  const verdict = reached(measure)
  return [
    benchmark,
    measure.what,
    measure.unit,
    figure(measure.berth),
    figure(measure.other),
    ratio === undefined ? "" : ratio.toFixed(2),
    aimOf(measure),
    verdict === undefined ? "" : verdict ? "yes" : "NO"
  ]
}

const head = ["benchmark", "measure", "unit", "Berth", "compared", "ratio", "aim", "reached"]

/** A table in Markdown. */
export const table = (results: ReadonlyArray<Result>): string => {
  const rows = results.flatMap(({ benchmark, measures }) => measures.map((measure) => row(benchmark, measure)))
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")
}

/** What the figures depend on. */
export const machine = () => ({
  cpus: cpus().length,
  model: cpus()[0]?.model ?? "",
  memoryGb: Math.round(totalmem() / 1e9),
  platform: `${process.platform} ${process.arch}`,
  node: process.version,
  load: loadavg()[0] ?? 0
})

export const write = (file: string, content: object): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`)
}
