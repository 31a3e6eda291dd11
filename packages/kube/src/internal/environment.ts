import { Config, Effect, Option } from "effect"

/** A variable of the environment; undefined where it is not set, or empty. */
export const variable = (name: string): Effect.Effect<string | undefined> =>
  Config.option(Config.String(name)).pipe(
    Effect.map((value) => (Option.isSome(value) && value.value !== "" ? value.value : undefined)),
    Effect.orDie
  )
