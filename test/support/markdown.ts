/** What a document of this repository says: its fenced blocks, and the rows of its tables. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** The text of a file, by its path from the root. */
export const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8")

export interface Block {
  /** `path:line`, for messages. */
  readonly at: string
  /** Such as `sh` or `yaml`. */
  readonly language: string
  /** The last heading above it. */
  readonly heading: string
  readonly text: string
}

export const blocks = (path: string): ReadonlyArray<Block> => {
  const found: Array<Block> = []
  let heading = ""
  let open: { readonly at: string; readonly language: string; readonly lines: Array<string> } | undefined
  for (const [index, line] of read(path).split("\n").entries()) {
    if (open === undefined) {
      heading = /^#+ (.*)$/u.exec(line)?.[1] ?? heading
      const language = /^```(\w+)$/u.exec(line)?.[1]
      if (language !== undefined) open = { at: `${path}:${index + 1}`, language, lines: [] }
    } else if (line === "```") {
      found.push({ at: open.at, language: open.language, heading, text: open.lines.join("\n") })
      open = undefined
    } else open.lines.push(line)
  }
  return found
}

/** The cells of every row of every table under headings that match. */
export const rows = (path: string, heading: RegExp): ReadonlyArray<ReadonlyArray<string>> => {
  let inside = false
  return read(path)
    .split("\n")
    .flatMap((line) => {
      const title = /^#+ (.*)$/u.exec(line)?.[1]
      if (title !== undefined) inside = heading.test(title)
      if (!inside || !/^\| (?!-)/u.test(line)) return []
      return [
        line
          .split(/(?<!\\)\|/u)
          .slice(1, -1)
          .map((cell) => cell.trim())
      ]
    })
}
