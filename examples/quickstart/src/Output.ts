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

/** Nothing is drawn over where nobody sees it, or where it would not work: in a file, a CI's log, a dumb terminal. */
export const standard = (environment: Readonly<Record<string, string | undefined>>): Output => ({
  isTerminal: process.stdout.isTTY && environment["TERM"] !== "dumb" && !isSet(environment["CI"]),
  hasColour: !isSet(environment["NO_COLOR"]),
  // A pseudo-terminal that nobody has given a size says that it has none.
  size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  write: (text) => void process.stdout.write(text)
})
