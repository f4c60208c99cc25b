/**
 * `npm run test:NAME`: the set-up that these tests need, then their program, which gets the arguments. `npm run
 * test:all` continues without a missing part and reports it; tests that were requested by name fail if they are left
 * out.
 */
import { spawnSync } from "node:child_process"
import { modernNode, ownEnvironment, root, setUp, setUpPackages, setUpTestPrograms } from "./setup.mjs"
import { setUpMachines } from "./vm.mjs"

const [program, ...args] = process.argv.slice(2)

const fleet = () => {
  if (args.includes("--simulated")) return []
  return args.some((word) => word.startsWith("--faults")) ? [setUp] : [setUp, setUpTestPrograms, setUpMachines]
}

/** Without names the Sandboxes are in memory, or in containers that have everything. */
const wanted = {
  "test/system/crash/main.ts": args.some((word) => word.startsWith("--money-rounds")) ? [] : [setUp],
  "test/system/flood/main.ts": [setUp],
  "test/system/linear/main.ts": [setUp],
  "test/proofs/prove.ts": [setUp],
  "test/proofs/mutants/sources/main.ts": [setUp],
  "test/system/fleet/main.ts": fleet()
}

setUpPackages()
const done = (wanted[program] ?? []).map((part) => part())
if (!done.every(Boolean)) {
  process.stderr.write("None of these tests was run: they need all of that.\n")
  process.exit(1)
}
// Ctrl-C reaches the program by itself; this process only waits for it.
process.on("SIGINT", () => {})
const { status } = spawnSync(modernNode(), [program, ...args], { cwd: root, stdio: "inherit", env: ownEnvironment() })
process.exitCode = status ?? 1
