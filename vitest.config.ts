import { defineConfig } from "vitest/config"

/** Packages are tested from their sources, without a build. */
const conditions = ["@berth/source"]

/** `npm test`: everything that is fast and needs nothing but this machine. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: [
      "packages/*/test/**/*.test.ts",
      "examples/*/test/**/*.test.ts",
      "test/{docs,e2e,conformance}/**/*.test.ts"
    ]
  }
})
