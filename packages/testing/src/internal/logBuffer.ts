/**
 * What a container printed, the newest part of it.
 */

export interface LogBuffer {
  readonly add: (chunk: Buffer) => void
  /** Nothing more comes. */
  readonly end: () => void
  readonly text: () => string
  /** Calls `write` for all that comes after now, then `end`; returns how to stop. */
  readonly follow: (write: (text: string) => void, end: () => void) => () => void
}

/** Keeps at least the last `bytesMax` bytes, and at most twice as many. */
export const make = (bytesMax: number): LogBuffer => {
  const followers = new Set<{ readonly write: (text: string) => void; readonly end: () => void }>()
  let chunks: Array<Buffer> = []
  let size = 0
  let ended = false
  const compact = (): Buffer => {
    const all = Buffer.concat(chunks)
    const kept = all.subarray(Math.max(0, all.length - bytesMax))
    chunks = [kept]
    size = kept.length
    return kept
  }
  return {
    add: (chunk) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > 2 * bytesMax) {
        compact()
      }
      followers.forEach(({ write }) => write(chunk.toString()))
    },
    end: () => {
      ended = true
      followers.forEach(({ end }) => end())
      followers.clear()
    },
    text: () => compact().toString(),
    follow: (write, end) => {
      const follower = { write, end }
      if (ended) {
        end()
      } else {
        followers.add(follower)
      }
      return () => void followers.delete(follower)
    }
  }
}

/** The last lines, and of those the last bytes. */
export const tail = (text: string, linesMax: number | undefined, bytesMax: number | undefined): string => {
  const complete = text.endsWith("\n")
  const lines = (complete ? text.slice(0, -1) : text).split("\n")
  const kept =
    linesMax === undefined || lines.length <= linesMax
      ? text
      : lines.slice(lines.length - linesMax).join("\n") + (complete && linesMax > 0 ? "\n" : "")
  return bytesMax === undefined ? kept : Buffer.from(kept).subarray(-bytesMax).toString()
}
