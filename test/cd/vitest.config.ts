import { defineConfig } from "vitest/config"
import base from "../../vitest.config.ts"

/** `npm run test:cd`: the drivers with the real helm, Flux and Argo CD, on a real API server. */
export default defineConfig({
  ...base,
  test: {
    include: ["test/cd/**/*.test.ts"],
    globalSetup: ["test/cluster/setup.ts"],
    testTimeout: 120_000,
    fileParallelism: false
  }
})
