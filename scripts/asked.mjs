/**
 * `npm run test:NAME`: the set-up that these tests need, then their program, which gets the arguments. `npm run test:all` goes on without what is missing and
 * says so; tests that were asked for by name do not succeed by being left out.
 */
import { spawnSync } from "node:child_process"
import { modernNode, ownEnvironment, root, setUp, setUpPackages, setUpTestPrograms } from "./setup.mjs"
import { setUpMachines } from "./vm.mjs"

const [program, ...args] = process.argv.slice(2)

const fleet = () => {
  if (args.includes("--simulated")) return []
  return args.some((word) => word.startsWith("--faults")) ? [setUp] : [setUp, setUpTestPrograms, setUpMachines]
}

/** Where nothing is named, Sandboxes are of memory, or in containers that have everything. */
const wanted = {
  "test/system/crash/main.ts": args.some((word) => word.startsWith("--money-rounds")) ? [] : [setUp],
  "test/system/flood/main.ts": [setUp],
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
