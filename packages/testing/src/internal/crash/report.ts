/** A run that went wrong, for whoever has to find out why. */
import { Cause } from "effect"
import { describe } from "../faults/describe.ts"
import type { Life, Outcome, Recipe } from "./model.ts"

const lifeLines = ({ death, writes }: Life, index: number): ReadonlyArray<string> => [
  index === 0 ? "  the program starts" : "  the program starts again",
  ...writes.map((write) => {
    const line = `    ${String(write.write).padStart(3)} ${describe(write)}`
    return death?.at.index === write.index ? `${line}   <- dies ${death.when} it` : line
  })
]

const reason = (cause: unknown): string => {
  if (Cause.isCause(cause)) return Cause.pretty(cause)
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
}

const deaths = (recipe: Recipe): string => {
  if (recipe.length === 0) return "without any crash"
  return recipe.map(({ index, when }) => `crashed ${when} write ${index}`).join(", then ")
}

/** Pasted into a test, it repeats the run. */
const call = (recipe: Recipe, seed: number): string =>
  `Crash.replay(scenario, ${JSON.stringify(recipe)}, { seed: ${seed} })`

export const text = (scenario: string, { failure, lives, recipe }: Outcome, seed: number): string =>
  [
    `${scenario}, ${deaths(recipe)}: ${failure?.what ?? "everything holds"}`,
    ...lives.flatMap(lifeLines),
    ...reason(failure?.cause)
      .split("\n")
      .map((line) => `  ${line}`),
    `  To repeat it: ${call(recipe, seed)}`
  ].join("\n")
