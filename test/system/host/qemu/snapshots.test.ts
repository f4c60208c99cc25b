import { describe } from "@effect/vitest"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { memoryContract } from "../../../support/runtime/contract/memoryContract.ts"
import { snapshotContract } from "../../../support/runtime/contract/snapshotContract.ts"

describe.skipIf(unusable !== null)("VM driver", () => {
  memoryContract("qemu", freshDriver(), { timeout: TIMEOUT_MS })
  snapshotContract("qemu", freshDriver(), { timeout: TIMEOUT_MS })
})
