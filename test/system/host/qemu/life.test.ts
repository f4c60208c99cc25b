import { describe } from "@effect/vitest"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { runtimeContract } from "../../../support/runtime/contract/runtimeContract.ts"

describe.skipIf(unusable !== null)("VM driver", () => {
  runtimeContract("qemu", freshDriver(), TIMEOUT_MS)
})
