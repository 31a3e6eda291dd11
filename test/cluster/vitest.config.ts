import { defineConfig } from "vitest/config"
import base from "../../vitest.config.ts"

/** `npm run test:cluster`: the same on a real API server, built and started here or named by BERTH_TEST_KUBECONFIG. */
export default defineConfig({
  ...base,
  test: {
    include: ["test/{cluster,conformance}/**/*.test.ts", "examples/*/test/**/*.test.ts"],
    // The program of an example brings its own, embedded cluster.
    exclude: ["**/program.test.ts"],
    globalSetup: ["test/cluster/setup.ts"],
    testTimeout: 120_000,
    fileParallelism: false
  }
})
