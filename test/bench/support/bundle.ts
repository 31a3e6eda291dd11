/** A program in the form in which images have it: one folder, no node_modules. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Tsup from "tsup"

/** Bundles `entry` into the folder; returns what to start with Node. */
export const bundle = async (entry: string, folder: string): Promise<string> => {
  await Tsup.build({
    config: false,
    silent: true,
    entry: { main: entry },
    outDir: folder,
    format: "esm",
    target: "node22",
    platform: "node",
    splitting: true,
    clean: false,
    noExternal: [/.*/],
    esbuildOptions: (options) => {
      options.conditions = ["@berth/source", "node"]
      // The text of what runs stays in memory. Names are left as they are, for stack traces.
      options.minifyWhitespace = true
      options.minifySyntax = true
    },
    banner: {
      js: 'import { createRequire as berthRequire } from "node:module"; const require = berthRequire(import.meta.url);'
    }
  })
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n')
  return join(folder, "main.js")
}
