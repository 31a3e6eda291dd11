/** How a package's program is bundled. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { defineConfig, type Options } from "tsup"
import { builtins } from "./builtins.ts"

/** A program in one folder, with all that it needs: an image has it and Node, and no node_modules. */
export const bundled = (entry: Readonly<Record<string, string>>, outDir: string) =>
  ({
    entry,
    outDir,
    format: "esm",
    target: "node22",
    platform: "node",
    splitting: true,
    sourcemap: false,
    noExternal: [/.*/],
    removeNodeProtocol: false,
    esbuildPlugins: [builtins],
    esbuildOptions: (options) => {
      // Beside `import` or `require`, which esbuild adds as each place needs it.
      options.conditions = ["@berth/source", "node"]
    },
    // What is CommonJS inside asks for require.
    banner: {
      js: 'import { createRequire as berthRequire } from "node:module"; const require = berthRequire(import.meta.url);'
    },
    // Wherever the folder is copied to, Node need not find out that these are modules.
    onSuccess: async () => writeFileSync(join(outDir, "package.json"), '{ "type": "module" }\n')
  }) satisfies Options

/** The configuration of a package. */
export const program = (name: string) =>
  defineConfig({ ...bundled({ [name]: "src/main.ts" }, "dist/program"), clean: true })
