/** Which runs there are, in which order: the shortest first. */
import { Effect } from "effect"
import * as Chance from "../faults/chance.ts"
import type { Sent } from "../faults/model.ts"
import type { Outcome, Point, Recipe } from "./model.ts"

export interface Plan {
  readonly deaths: number
  readonly runsMax: number
  readonly seed: number
}

type Run<E> = (recipe: Recipe) => Effect.Effect<Outcome, E>

export interface Explored {
  readonly runs: number
  readonly missed: number
  readonly skipped: number
  readonly undisturbed: ReadonlyArray<Sent>
  readonly failed: Outcome | undefined
}

const pointsOf = ({ name, namespace, occurrence, resource, verb, write = 0 }: Sent): ReadonlyArray<Point> =>
  (["before", "after"] as const).map((when) => ({
    when,
    index: write,
    write: { verb, resource, namespace, name, occurrence }
  }))

/** The same run with one death more, at each write of its last life. */
const longer = ({ lives, recipe }: Outcome): ReadonlyArray<Recipe> =>
  (lives.at(-1)?.writes ?? []).flatMap(pointsOf).map((point) => [...recipe, point])

const cameToPass = ({ lives, recipe }: Outcome): boolean =>
  lives.filter(({ death }) => death !== undefined).length === recipe.length

const byNumber = (recipe: Recipe): Recipe =>
  recipe.map((point, index) => (index < recipe.length - 1 ? point : { when: point.when, index: point.index }))

/** A write that does not come under its name this time is looked for by its number. */
const tried = Effect.fnUntraced(function* <E>(recipe: Recipe, run: Run<E>) {
  const first = yield* run(recipe)
  if (cameToPass(first) || first.failure !== undefined) return { outcome: first, runs: 1 }
  return { outcome: yield* run(byNumber(recipe)), runs: 2 }
})

export const explore = Effect.fnUntraced(function* <E>(
  { deaths, runsMax, seed }: Plan,
  run: Run<E>
): Effect.fn.Return<Explored, E> {
  const first = yield* run([])
  const [life] = first.lives
  const totals = { runs: 1, missed: 0, skipped: 0, undisturbed: life?.writes ?? [] }
  if (first.failure !== undefined) return { ...totals, failed: first }
  let candidates = longer(first)

  /** The runs in their order, until one fails. */
  const all = Effect.fnUntraced(function* (recipes: ReadonlyArray<Recipe>) {
    const next: Array<Recipe> = []
    for (const [index, recipe] of recipes.entries()) {
      const { outcome, runs } = yield* tried(recipe, run)
      totals.runs += runs
      if (outcome.failure !== undefined) return { next, failed: outcome, index }
      if (cameToPass(outcome)) next.push(...longer(outcome))
      else totals.missed += 1
    }
    return { next, failed: undefined, index: recipes.length }
  })

  for (let death = 1; death <= deaths; death++) {
    const chosen = Chance.sample(candidates, Math.max(0, runsMax - totals.runs), seed + death)
    const { failed, index, next } = yield* all(chosen)
    if (failed !== undefined) {
      // One that chance left out may fail earlier.
      const end = chosen[index]
      const before = candidates.slice(0, end && candidates.indexOf(end)).filter((recipe) => !chosen.includes(recipe))
      const earlier = yield* all(before)
      return { ...totals, failed: earlier.failed ?? failed }
    }
    totals.skipped += candidates.length - chosen.length
    candidates = next
  }
  return { ...totals, failed: undefined }
})
