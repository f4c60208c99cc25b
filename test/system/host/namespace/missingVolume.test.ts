import { rmSync } from "node:fs"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { dataFolder, driverOn, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { missingVolumeIsRefused } from "../missingVolume.ts"

describe.skipIf(skipped(unusable))("a namespace Sandbox whose volume was removed", () => {
  it.live("does not start with an empty one, and reports it", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
        Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      )
      yield* missingVolumeIsRefused(
        () => driverOn(folder),
        (id) => [
          `${folder}/runtime/namespace/${id}/${isRoot ? "volume.img" : "volume"}`,
          `${folder}/runtime/namespace/${id}`
        ]
      )
    }).pipe(Effect.scoped)
  )
})
