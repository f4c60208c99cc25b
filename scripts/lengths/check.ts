import { dirname } from "node:path"
import { remaining } from "./remaining.ts"
import { lengthFaults } from "./rules.ts"

const faults = lengthFaults(dirname(dirname(import.meta.dirname)), remaining)
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
