import { describe } from "@effect/vitest"
import { runtimeContract } from "../../runtime/contract/runtimeContract.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "./TestMachines.ts"

describe.skipIf(unusable !== null)("VM driver", () => {
  runtimeContract("qemu", freshDriver(), TIMEOUT_MS)
})
