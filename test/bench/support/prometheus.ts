/** What a program says of itself at /metrics. */
import { Effect } from "effect"

/** One line of it. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const line = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/u
const label = /(?<key>\w+)="(?<value>(?:[^"\\]|\\.)*)"/gu

const parse = (text: string): ReadonlyArray<Sample> =>
  text.split("\n").flatMap((each) => {
    const { labels = "", name, value } = line.exec(each)?.groups ?? {}
    if (name === undefined || each.startsWith("#")) return []
    const pairs = [...labels.matchAll(label)].map(({ groups }) => [groups?.["key"] ?? "", groups?.["value"] ?? ""])
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }]
  })

/** Of a program on loopback. */
export const read = (port: number): Effect.Effect<ReadonlyArray<Sample>> =>
  Effect.promise(async () => parse(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()))

/** The sum of a metric, over all series whose labels are so. */
export const sum = (
  samples: ReadonlyArray<Sample>,
  name: string,
  labels: Readonly<Record<string, string>> = {}
): number =>
  samples
    .filter((each) => each.name === name && Object.entries(labels).every(([key, value]) => each.labels[key] === value))
    .reduce((total, { value }) => total + value, 0)
