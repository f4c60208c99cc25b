/**
 * `npm test`: test/unit and test/service, with no more set-up than `npm run up`. `npm test -- FILES [OPTIONS]`: those
 * files, of any folder.
 * `npm run test:all`: installs what is missing, runs the same first, then test/system. Options go to vitest.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { setUpEngines } from "./engines.mjs"
import { modernNode, ownEnvironment, root, setUp, setUpTestPrograms } from "./setup.mjs"
import { setUpMachines } from "./vm.mjs"

const small = ["test/unit", "test/service"]

const [first, ...others] = process.argv.slice(2)
const isAll = first === "--all"
const args = isAll ? others : process.argv.slice(2)
const namesFiles = args[0] !== undefined && !args[0].startsWith("-")
/**
 * Whether no requested test needs more set-up than `npm run up`. A name outside of these folders may be of test/system.
 */
const isSmall =
  !isAll && (!namesFiles || args.every((word) => word.startsWith("-") || small.some((folder) => word.includes(folder))))

const wanted = isSmall ? [setUp] : [setUp, setUpTestPrograms, setUpEngines]
if (!wanted.map((part) => part()).every(Boolean))
  process.stderr.write("Going on without; the tests that need them will say so.\n")
// The VM tests run where a guest image can be had; else a sentence says why not.
if (!isSmall && process.env.ATOLL_RUNTIME !== "simulated") setUpMachines()

// Ctrl-C reaches vitest by itself; this process only waits for it.
process.on("SIGINT", () => {})
const vitest = join(root, "node_modules/vitest/vitest.mjs")

/** @returns {boolean} Whether all of them passed. */
const run = (words) =>
  spawnSync(modernNode(), [vitest, "run", ...words], { cwd: root, stdio: "inherit", env: ownEnvironment() }).status ===
  0

const passed = isAll
  ? [run([...small, ...args]), run(["test/system", ...args])]
  : [run(namesFiles ? args : [...small, ...args])]
process.exitCode = passed.every(Boolean) ? 0 : 1

if (!isAll && !namesFiles)
  process.stdout.write(
    `Not run: test/system (browsers, virtual machines, several processes, kills, packages, fleets, long races).
    npm run test:all                           everything; installs what is missing
    npm test -- test/system/cluster            one folder or file of it
`
  )
