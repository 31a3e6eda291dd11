import { defineConfig } from "vitest/config"
import base from "../../vitest.config.ts"

/** `npm run test:crash`: operators that are killed, again and again. */
export default defineConfig({ ...base, test: { include: ["test/crash/**/*.test.ts"], testTimeout: 300_000 } })
