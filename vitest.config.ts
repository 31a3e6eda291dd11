import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

/** Packages are tested from their sources, without a build. */
const conditions = ["@berth/source"]

/**
 * `npm test`: everything that is fast and needs nothing but this machine. The database provider and its servers have
 * `npm run test:postgres`, whole programs `npm run test:e2e`, and whatever dies after each of its writes `npm run test:crash`.
 */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  // What sets a run up is not loaded as tests are.
  environments: { __vitest__: { resolve: { conditions } } },
  test: {
    // Files share a worker, which loads Effect and the sources once. So whatever a test changes of its process it puts
    // back, and `vi.setConfig` and hooks for a file stand in the file: what it imports may have been loaded by another one.
    isolate: false,
    // A busy machine takes its time, above all for whole clusters.
    testTimeout: 30_000,
    // Most files wait for processes and clocks now and then: one more than there are cores keeps these busy.
    maxWorkers: availableParallelism() + 1,
    include: [
      "packages/!(db-provider)/test/**/*.test.ts",
      "examples/*/test/**/*.test.ts",
      "test/{docs,conformance}/**/*.test.ts"
    ],
    exclude: ["packages/*/test/e2e/**", "packages/*/test/?*Crash.test.ts", "packages/testing/test/Postgres.test.ts"]
  }
})
