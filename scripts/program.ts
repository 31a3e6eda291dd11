/** How a package's program is bundled. */
import { writeFileSync } from "node:fs"
import { defineConfig } from "tsup"

const outDir = "dist/program"

/** The program in one folder, with all that it needs: an image has it and Node, and no node_modules. */
export const program = (name: string) =>
  defineConfig({
    entry: { [name]: "src/main.ts" },
    outDir,
    format: "esm",
    target: "node22",
    platform: "node",
    splitting: true,
    clean: true,
    sourcemap: false,
    noExternal: [/.*/],
    esbuildOptions(options) {
      // Beside `import` or `require`, which esbuild adds as each place needs it.
      options.conditions = ["@berth/source", "node"]
    },
    // What is CommonJS inside asks for require.
    banner: {
      js: 'import { createRequire as berthRequire } from "node:module"; const require = berthRequire(import.meta.url);'
    },
    // Wherever the folder is copied to, Node need not find out that these are modules.
    onSuccess: async () => writeFileSync(`${outDir}/package.json`, '{ "type": "module" }\n')
  })
