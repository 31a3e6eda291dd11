/**
 * Loads Node's own modules by `require` in a bundle. An import of one reads everything that the module has, to see what can be imported
 * from it; and for `node:http` Node then loads its client of fetch, which takes as long as all the rest of a start.
 */
import { isBuiltin } from "node:module"
import type { Options } from "tsup"

type Plugin = NonNullable<Options["esbuildPlugins"]>[number]

const namespace = "builtin"

/** For esbuild, which is written in Go and takes no flags. */
const filter = new RegExp(String.raw`^(?:node:)?\w[\w/]*$`)

export const builtins: Plugin = {
  name: "builtins",
  setup: (build) => {
    build.onResolve({ filter }, ({ kind, path }) => {
      if (!isBuiltin(path)) return undefined
      return kind === "require-call" ? { path, external: true } : { path, namespace }
    })
    build.onLoad({ filter, namespace }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`
    }))
  }
}
