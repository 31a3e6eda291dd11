/** A terminal that understands what the timeline says to it, and nothing else: whatever is unknown is garbage on a screen. */
export interface Screen {
  readonly lines: ReadonlyArray<string>
  readonly isCursorVisible: boolean
  /** The most columns that a line has ever had. */
  readonly widest: number
  readonly unknown: ReadonlyArray<string>
  /** Whether anything was coloured or dimmed. */
  readonly isStyled: boolean
}

// oxlint-disable-next-line no-control-regex -- A terminal is told what to do by control characters.
const token = /\u001b\[(\??)([\d;]*)([A-Za-z])|\r|\n|\u001b|[^\u001b\r\n]+/gu

/** What stands on a screen that is high enough once all of this was written to it. */
export const show = (written: string): Screen => {
  const lines: Array<string> = [""]
  const unknown: Array<string> = []
  let [row, column, widest, isCursorVisible, isStyled] = [0, 0, 0, true, false]
  const control = (whole: string, mark: string, argument: string, letter: string) => {
    if (mark === "" && letter === "A") row = Math.max(0, row - Number(argument || "1"))
    else if (mark === "" && letter === "J") lines.splice(row, lines.length, (lines[row] ?? "").slice(0, column))
    else if (mark === "" && letter === "m") isStyled = true
    // These two are npm's, before it runs anything.
    else if (mark === "" && letter === "G") column = Number(argument || "1") - 1
    else if (mark === "" && letter === "K") lines[row] = (lines[row] ?? "").slice(0, column)
    else if (mark === "?" && argument === "25") isCursorVisible = letter === "h"
    else unknown.push(whole)
  }
  for (const [whole, mark = "", argument = "", letter] of written.matchAll(token)) {
    if (letter !== undefined) control(whole, mark, argument, letter)
    else if (whole === "\r") column = 0
    else if (whole === "\n") {
      row++
      column = 0
      lines[row] ??= ""
    } else if (whole === "\u001b") unknown.push("escape")
    else {
      const line = (lines[row] ?? "").padEnd(column)
      lines[row] = line.slice(0, column) + whole + line.slice(column + whole.length)
      column += whole.length
      widest = Math.max(widest, column)
    }
  }
  return { lines, isCursorVisible, widest, unknown, isStyled }
}
