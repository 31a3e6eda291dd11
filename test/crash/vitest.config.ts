import { defineConfig } from "vitest/config"
import base from "../../vitest.config.ts"

/** `npm run test:crash`: operators that are killed, again and again, and controllers that die after each of their writes. */
export default defineConfig({
  ...base,
  test: { include: ["test/crash/**/*.test.ts", "packages/!(db-provider)/test/?*Crash.test.ts"], testTimeout: 300_000 }
})
