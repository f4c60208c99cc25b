import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/TestPostgres.ts",
    pool: "forks",
    // Tests wait for processes more than they compute.
    maxWorkers: 3,
    // Patience, not a promise: shared machines are slow at times, and no test measures speed.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000
  }
})
