/**
 * `npm run test:flood -- --seconds 600`: an endless writer beside another tenant, for any time, with the default
 * settings.
 */
import { parseArgs } from "node:util"
import { runAsked } from "../../support/askedTests.ts"
import { unusable } from "../../support/host/namespace/TestHost.ts"

const { values } = parseArgs({ options: { seconds: { type: "string", default: "600" } } })

process.exitCode = runAsked(
  ["test/system/flood", "--disable-console-intercept"],
  { ATOLL_FLOOD_SECONDS: values.seconds },
  unusable
)
