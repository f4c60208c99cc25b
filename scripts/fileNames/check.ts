import { dirname } from "node:path"
import { fileNameFaults } from "./rules.ts"

const faults = fileNameFaults(dirname(dirname(import.meta.dirname)))
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
