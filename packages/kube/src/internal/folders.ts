/** Which files lie where. */
import { isAbsolute, relative, sep } from "node:path"

/** Whether a path leads into one of the folders, however many `..` it takes on the way. */
export const isWithin = (folders: ReadonlyArray<string>, path: string): boolean =>
  folders.some((folder) => {
    const inside = relative(folder, path)
    return inside !== "" && !isAbsolute(inside) && inside.split(sep)[0] !== ".."
  })
