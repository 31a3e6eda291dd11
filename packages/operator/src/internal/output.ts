import { Effect } from "effect"

/**
 * Writes a text and a line end to standard output, and waits until the last byte is handed over: the process ends soon after,
 * and what a socket had not taken by then would be lost. A reader that goes away early (`| head`) has what it wanted.
 */
export const print = (text: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const done = () => resume(Effect.void)
    process.stdout.once("error", done)
    process.stdout.write(`${text}\n`, done)
  })
