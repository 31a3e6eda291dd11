import { defineConfig } from "vitest/config"
import base from "../../vitest.config.ts"

/** `npm run test:cluster`: the same on a real API server, whose kubeconfig BERTH_TEST_KUBECONFIG names. */
export default defineConfig({
  ...base,
  test: { include: ["test/{cluster,conformance}/**/*.test.ts"], testTimeout: 120_000, fileParallelism: false }
})
