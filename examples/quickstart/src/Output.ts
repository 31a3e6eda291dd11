/** Where the story goes. */
export interface Output {
  /** Whether lines can be drawn over. */
  readonly isTerminal: boolean
  readonly hasColour: boolean
  /** Of the terminal, now. */
  readonly size: () => { readonly columns: number; readonly rows: number }
  readonly write: (text: string) => void
}

const isSet = (variable: string | undefined): boolean => variable !== undefined && variable !== ""

/** What is needed of a process's standard output. */
interface Stream {
  readonly isTTY: boolean
  readonly columns: number | undefined
  readonly rows: number | undefined
  readonly write: (text: string) => unknown
}

/** Nothing is drawn over where nobody sees it, or where it would not work: in a file, a CI's log, a dumb terminal. */
export const of = (stream: Stream, environment: Readonly<Record<string, string | undefined>>): Output => ({
  isTerminal: stream.isTTY && environment["TERM"] !== "dumb" && !isSet(environment["CI"]),
  hasColour: !isSet(environment["NO_COLOR"]),
  // A pseudo-terminal that nobody has given a size says that it has none.
  size: () => ({ columns: stream.columns || 80, rows: stream.rows || 24 }),
  write: (text) => void stream.write(text)
})
