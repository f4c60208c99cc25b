import { ConfigProvider, Layer } from "effect"
import { Settings } from "../../src/Config.ts"

/** Settings of a test: the defaults and what it names (by environment variable), nothing of the machine's environment. */
export const testSettings = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(Settings.layer).pipe(
    Layer.provide(
      ConfigProvider.layer(
        ConfigProvider.fromUnknown({ ATOLL_DATABASE_CONNECTIONS: "4", ATOLL_DATABASE_WAIT_MS: "5000", ...environment })
      )
    )
  )
