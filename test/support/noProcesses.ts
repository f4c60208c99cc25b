/** Beside each file of test/unit (vitest `setupFiles`): a test that starts a process fails. */
import processes from "node:child_process"
import { syncBuiltinESMExports } from "node:module"

const refuse = () => {
  throw new Error("A test in test/unit starts no process. What it needs is in test/service or test/system.")
}

for (const start of ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"]) {
  Object.assign(processes, { [start]: refuse })
}
// For the modules that import a function by its name.
syncBuiltinESMExports()
