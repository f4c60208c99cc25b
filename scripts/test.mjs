/** `npm test`: the set-up of `npm run up`, then every test. Arguments go to vitest. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { setUpEngines } from "./engines.mjs"
import { modernNode, ownEnvironment, root, setUp, setUpTestPrograms } from "./setup.mjs"
import { setUpMachines } from "./vm.mjs"

if (![setUp(), setUpTestPrograms(), setUpEngines()].every(Boolean))
  process.stderr.write("Going on without; the tests that need them will say so.\n")
// The VM tests run where a guest image can be had; else they say why not.
if (process.env.ATOLL_RUNTIME !== "simulated") setUpMachines()
const vitest = join(root, "node_modules/vitest/vitest.mjs")
// Ctrl-C reaches vitest by itself; this process only waits for it.
process.on("SIGINT", () => {})
const { status } = spawnSync(modernNode(), [vitest, "run", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
  env: ownEnvironment()
})
process.exitCode = status ?? 1
