import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ImageUnusable } from "../../../../src/host/linux/checkedImage.ts"
import { saysDiskFull } from "../../../../src/host/linux/diskRoom.ts"
import { SnapshotStore } from "../../../../src/host/linux/SnapshotStore.ts"
import { fillUp, makeRoom } from "../../../support/host/linux/filledDisk.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"

const MiB = 1024 ** 2

async function* noFileSystem() {
  yield { offset: 0, bytes: Buffer.alloc(MiB, "damaged") }
}

describe.skipIf(process.getuid?.() !== 0)("an image of elsewhere", () => {
  it.live("is not said to be damaged while the disk is full: its check may need to write", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(
          Effect.promise(() => mkdtemp(join(tmpdir(), "atoll-received-"))),
          (it) => Effect.promise(() => rm(it, { recursive: true, force: true }))
        )
        const disk = yield* smallDisk(folder, 100 * MiB)
        const store = new SnapshotStore(disk)
        yield* Effect.promise(() => store.receive("one", { sizeBytes: 64 * MiB, owner: null, pieces: noFileSystem() }))
        const fault = Effect.promise(() =>
          store.accept("one", false).then(
            () => null,
            (cause: unknown) => cause
          )
        )
        fillUp(disk)
        const full = yield* fault
        expect(full).not.toBeInstanceOf(ImageUnusable)
        expect(full instanceof Error && saysDiskFull(full.message)).toBe(true)
        makeRoom(disk)
        expect(yield* fault).toBeInstanceOf(ImageUnusable)
      })
    )
  )
})
