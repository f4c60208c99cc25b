import { ConfigProvider, Layer } from "effect"
import { Settings } from "../../src/Config.ts"

/**
 * Settings of a test: the defaults and those that it names (by environment variable), a log without a line for each
 * request, nothing of the machine's environment.
 */
export const testSettings = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(Settings.layer).pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromUnknown({
          ATOLL_DATABASE_CONNECTIONS: "4",
          // A test's own transaction may be idle as long as a slow machine needs.
          ATOLL_DATABASE_IDLE_TRANSACTION_MS: "120000",
          ATOLL_DATABASE_WAIT_MS: "5000",
          ATOLL_LOG_LEVEL: "warn",
          // Boots that no test waits for would slow the others down.
          ATOLL_SPARES: "0",
          ...environment
        })
      )
    )
  )
