import { ConfigProvider, Layer } from "effect"
import { Settings } from "../../src/Config.ts"

/** Settings of a test: the defaults and what it names (by environment variable), a log without a line for each request, nothing of the machine's environment. */
export const testSettings = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(Settings.layer).pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromUnknown({
          ATOLL_DATABASE_CONNECTIONS: "4",
          ATOLL_DATABASE_WAIT_MS: "5000",
          ATOLL_LOG_LEVEL: "warn",
          ...environment
        })
      )
    )
  )
