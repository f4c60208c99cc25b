/** `npm run test:flood -- --seconds 600`: an endless writer beside another tenant, for as long as you like, with the settings as they come. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"

const { values } = parseArgs({ options: { seconds: { type: "string", default: "600" } } })

const root = join(import.meta.dirname, "../..")
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/vitest/vitest.mjs"), "run", "test/flood", "--disable-console-intercept"],
  { cwd: root, stdio: "inherit", env: { ...process.env, ATOLL_FLOOD_SECONDS: values.seconds } }
)
process.exitCode = status ?? 1
