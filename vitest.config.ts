import { defineConfig } from "vitest/config"

const conditions = ["@berth/source"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/*/test/**/*.test.ts", "test/*/**/*.test.ts"]
  }
})
