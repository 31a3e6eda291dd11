/** A program in the form in which images have it: one folder, no node_modules. */
import { join } from "node:path"
import * as Tsup from "tsup"
import { bundled } from "../../../scripts/program.ts"

/** Bundles `entry` into the folder; returns what to start with Node. */
export const bundle = async (entry: string, folder: string): Promise<string> => {
  const options = bundled({ main: entry }, folder)
  await Tsup.build({
    ...options,
    config: false,
    silent: true,
    esbuildOptions: (built) => {
      options.esbuildOptions(built)
      // The text of what runs stays in memory. Names are left as they are, for stack traces.
      built.minifyWhitespace = true
      built.minifySyntax = true
    }
  })
  return join(folder, "main.js")
}
