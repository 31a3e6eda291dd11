import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

/** Packages are tested from their sources, without a build. */
const conditions = ["@berth/source"]

/** `npm test`: everything that is fast and needs nothing but this machine. The database provider has `npm run test:postgres`. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    // Most files wait for processes and clocks now and then: one more than there are cores keeps these busy.
    maxWorkers: availableParallelism() + 1,
    include: [
      "packages/!(db-provider)/test/**/*.test.ts",
      "examples/*/test/**/*.test.ts",
      "test/{docs,conformance}/**/*.test.ts"
    ]
  }
})
