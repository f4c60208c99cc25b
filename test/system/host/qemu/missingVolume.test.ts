import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { missingVolumeIsRefused } from "../missingVolume.ts"

describe.skipIf(unusable !== null)("a machine whose volume was removed", () => {
  it.live(
    "does not start with an empty one, and reports it",
    () =>
      Effect.gen(function* () {
        const folder = yield* scopedFolder
        yield* missingVolumeIsRefused(
          () => driverOn(folder),
          (id) => [`${folder}/runtime/qemu/${id}/volume.raw`, `${folder}/runtime/qemu/${id}`]
        )
      }).pipe(Effect.scoped),
    TIMEOUT_MS
  )
})
