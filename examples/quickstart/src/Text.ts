/** Text for so many columns. */

/** Cut to one line. */
export const fitted = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text

/** Broken between words into lines, of which the second and later ones are indented. A word that is too long stays whole. */
export const wrapped = (text: string, width: number, indent: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  // Several spaces in a row are for columns: they belong to the word before them.
  for (const word of text.match(/\S+\s*/gu) ?? []) {
    if (line.trim() !== "" && (line + word.trimEnd()).length > width) {
      lines.push(line.trimEnd())
      line = " ".repeat(indent)
    }
    line += word
  }
  return [...lines, line.trimEnd()]
}
