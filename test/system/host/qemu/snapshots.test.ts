import { describe } from "@effect/vitest"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { snapshotContract } from "../../../support/runtime/contract/snapshotContract.ts"

describe.skipIf(unusable !== null)("VM driver", () => {
  snapshotContract("qemu", freshDriver(), { timeout: TIMEOUT_MS })
})
