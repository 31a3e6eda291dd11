import { defineConfig } from "vitest/config"
import base from "../../vitest.config.ts"

/** `npm run test:postgres`: the database provider, most of whose tests work on PostgreSQL servers of their own. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["packages/db-provider/test/**/*.test.ts", "packages/testing/test/Postgres.test.ts"],
    exclude: [],
    // A mocked module needs sources that nobody has loaded yet, and the bench of shards says how long its hooks may take.
    isolate: true
  }
})
