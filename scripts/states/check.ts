import { dirname } from "node:path"
import { stateFaults } from "./rules.ts"

const faults = stateFaults(dirname(dirname(import.meta.dirname)))
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
