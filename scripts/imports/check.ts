import { dirname } from "node:path"
import { importFaults } from "./rules.ts"

const faults = importFaults(dirname(dirname(import.meta.dirname)))
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
