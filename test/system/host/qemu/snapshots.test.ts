import { describe } from "@effect/vitest"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { memoryContract } from "../../../support/runtime/contract/memoryContract.ts"
import { openContract } from "../../../support/runtime/contract/openContract.ts"
import { snapshotContract } from "../../../support/runtime/contract/snapshotContract.ts"

describe.skipIf(unusable !== null)("VM driver", () => {
  memoryContract("qemu", freshDriver(), { timeout: TIMEOUT_MS })
  snapshotContract("qemu", freshDriver(), { timeout: TIMEOUT_MS })
  for (const memory of [false, true]) openContract("qemu", freshDriver(), { timeout: TIMEOUT_MS, memory })
})
