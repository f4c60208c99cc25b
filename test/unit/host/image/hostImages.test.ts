import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { publicText } from "../../../../schemas/PublicText.ts"
import { HostImages, imagesOf } from "../../../../src/host/image/HostImages.ts"
import { HostMutex } from "../../../../src/host/linux/HostMutex.ts"

it.effect("a host that cannot read its images says what it was doing", () =>
  Effect.gen(function* () {
    const root = mkdtempSync(join(tmpdir(), "atoll-images-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(root, { recursive: true })))
    writeFileSync(join(root, ".images"), "no folder")
    const images = imagesOf(
      new HostImages({
        root,
        turns: new HostMutex({ instance: "images", patienceMs: 1_000, onImpatient: () => {} }),
        limits: { maxBytes: 1, registries: [] },
        user: { name: "sandbox", uid: 1000 },
        room: { take: () => Promise.resolve(), giveBack: () => {} },
        isShortage: (cause): cause is Error => cause === null,
        obstacle: () => Promise.resolve(null),
        unsupported: publicText`None.`,
        buildObstacle: () => Promise.resolve(null),
        unbuilt: publicText`None.`,
        released: () => Promise.resolve(),
        run: (effect) => Effect.runPromise(effect)
      })
    )
    for (const [doing, asked] of [
      ["listing images", images.inventory],
      ["listing uploads", images.uploads]
    ] as const) {
      expect(yield* Effect.flip<unknown, unknown, never>(asked)).toMatchObject({
        _tag: "RuntimeUnavailable",
        message: expect.stringContaining(`The host failed while ${doing}: ENOTDIR`)
      })
    }
  })
)
