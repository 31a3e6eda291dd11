/** The operator's log, in a file: here the story is told, there it is what happened. */
import { closeSync, openSync, rmSync, writeSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Data, Effect } from "effect"

/** Beside this example, so that it is there after the story, however that ends. */
export const place = fileURLToPath(new URL("../operator.log", import.meta.url))

export class LogNotWritable extends Data.TaggedError("LogNotWritable")<{
  readonly file: string
  readonly code: string
}> {
  override get message() {
    return `The operator's log cannot be written to ${this.file} (${this.code}): name another file with --log.`
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "unknown")

/** Begins a new file, to be written until the scope closes. Whoever still writes to an older one does not write to this one. */
export const open = (file: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.try({
        try: () => {
          rmSync(file, { force: true })
          return openSync(file, "wx")
        },
        catch: (error) => new LogNotWritable({ file, code: codeOf(error) })
      }),
      (descriptor) => Effect.sync(() => closeSync(descriptor))
    ),
    (descriptor) => (chunk: Buffer) => void writeSync(descriptor, chunk)
  )
