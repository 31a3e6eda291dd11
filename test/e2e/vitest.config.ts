import { defineConfig } from "vitest/config"
import base from "../../vitest.config.ts"

/** `npm run test:e2e`: whole programs as they are started, with all that they work with. */
export default defineConfig({
  ...base,
  test: { ...base.test, include: ["test/e2e/**/*.test.ts"], testTimeout: 120_000 }
})
