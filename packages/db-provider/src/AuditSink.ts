/**
 * Where audit events go to: standard output, a file, or something of the program's own.
 *
 * @since 0.1.0
 */
import { appendFile } from "node:fs/promises"
import { Data, Effect } from "effect"

/**
 * The lines were not taken, or not all of them. They are offered again.
 *
 * @category errors
 * @since 0.1.0
 */
export class SinkFailed extends Data.TaggedError("SinkFailed")<{
  readonly sink: string
  /** Such as `ENOSPC`. */
  readonly code: string
}> {
  override get message() {
    return `audit events cannot be written to ${this.sink} (${this.code})`
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Sink {
  /** Writes whole lines, and ends when they are handed over. One is asked at a time. */
  readonly write: (lines: string) => Effect.Effect<void, SinkFailed>
}

/** Neither the text nor the path of an error: a code says enough. */
const failed = (sink: string) => (error: unknown) => {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "unknown"
  return new SinkFailed({ sink, code })
}

/**
 * Standard output, between the lines of the program's own log.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stdout: Sink = {
  write: (lines) =>
    Effect.callback<void, SinkFailed>((resume) => {
      process.stdout.write(lines, (error) =>
        resume(error === null || error === undefined ? Effect.void : Effect.fail(failed("standard output")(error)))
      )
    })
}

/**
 * A file, which is appended to. One that was moved away is made anew, so that whatever rotates it needs to tell nobody.
 *
 * **Errors**: {@link SinkFailed} where it cannot be written now, so that a wrong path is known at once.
 *
 * @category constructors
 * @since 0.1.0
 */
export const file = Effect.fn("AuditSink.file")(function* (path: string): Effect.fn.Return<Sink, SinkFailed> {
  const append = (text: string) =>
    Effect.tryPromise({ try: () => appendFile(path, text, { mode: 0o640 }), catch: failed(path) })
  // A write that failed may have left a part of a line, which an empty one ends.
  let start = ""
  yield* append("")
  return {
    write: (lines) =>
      append(`${start}${lines}`).pipe(
        Effect.tap(() => Effect.sync(() => (start = ""))),
        Effect.tapError(() => Effect.sync(() => (start = "\n")))
      )
  }
})
