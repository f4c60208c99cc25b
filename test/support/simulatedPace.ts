/** A whole service under a clock of the test: how often it looks, and how long it waits. For runs that crash and start again. */

export const pacedEnvironment = {
  ATOLL_RECONCILE_INTERVAL_MS: "5000",
  ATOLL_BOOT_TIMEOUT_MS: "30000",
  ATOLL_SLEEP_AFTER_SECONDS: "25",
  ATOLL_TELEMETRY_INTERVAL_MS: "1000000000",
  ATOLL_PRUNE_INTERVAL_MS: "1000000000"
}

/** Of the host of actors. */
export const pacedHost = {
  sweepIntervalMs: 5000,
  shardsLookEveryMs: 5000,
  passivateAfterMs: 3000,
  deadlineHorizonMs: 10_000,
  stopWithinMs: 0
}
