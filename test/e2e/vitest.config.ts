import { defineConfig } from "vitest/config"
import base from "../../vitest.config.ts"

/** `npm run test:e2e`: whole programs as they are started, with all that they work with; and what takes long of what `npm test` samples. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["{packages/*/test,test}/e2e/**/*.test.ts", "packages/db-provider/test/ApiFuzz.test.ts"],
    exclude: [],
    env: { BERTH_FUZZ_COUNT: "10000" },
    globalSetup: ["test/e2e/setup.ts"],
    testTimeout: 300_000,
    // Few files that take long: nothing is won where they share what they have loaded.
    isolate: true
  }
})
