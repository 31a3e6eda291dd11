/**
 * Fields that a JSON text gives twice, of which parsing keeps the last without a word.
 */

interface Open {
  readonly path: string
  /** The names so far; undefined in a list. */
  readonly names: Set<string> | undefined
  /** Of a list: the place of the next item. */
  index: number
  /** Of an object: the name whose value comes next. */
  name: string | undefined
}

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gu

const placeIn = (open: Open | undefined): string => {
  if (open === undefined) return ""
  if (open.names === undefined) return `${open.path}[${open.index}]`
  return open.path === "" ? (open.name ?? "") : `${open.path}.${open.name ?? ""}`
}

/** Their paths, each as often as it is repeated; the text is valid JSON. @internal */
export const duplicateFields = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const stack: Array<Open> = []
  let isName = false
  for (const [token] of text.matchAll(tokens)) {
    const open = stack.at(-1)
    switch (token) {
      case "{":
      case "[":
        stack.push({ path: placeIn(open), names: token === "{" ? new Set() : undefined, index: 0, name: undefined })
        isName = token === "{"
        break
      case "}":
      case "]":
        stack.pop()
        isName = false
        break
      case ",":
        if (open !== undefined) open.index += 1
        isName = open?.names !== undefined
        break
      case ":":
        isName = false
        break
      default:
        if (!isName || open?.names === undefined) break
        open.name = String(JSON.parse(token))
        if (open.names.has(open.name)) found.push(placeIn(open))
        open.names.add(open.name)
    }
  }
  return found
}
