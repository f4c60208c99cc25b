/** Admission on a small disk, without a machine. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Settings } from "../../../../src/Config.ts"
import { HostUsers } from "../../../../src/host/linux/HostUsers.ts"
import { SnapshotStore } from "../../../../src/host/linux/SnapshotStore.ts"
import { HostRoom } from "../../../../src/host/qemu/HostRoom.ts"
import { overlayMaxBytes } from "../../../../src/host/qemu/machineArguments.ts"
import type { QemuHost } from "../../../../src/host/qemu/QemuHost.ts"
import { type MachineRecord, SandboxFolder } from "../../../../src/host/qemu/SandboxFolder.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import { scopedFolder, settingsOn } from "../../../support/host/qemu/TestMachines.ts"

const MiB = 1024 ** 2
const rootBytes = 100 * MiB
const writtenBytes = 60 * MiB

/** It starts, and its root disk has `writtenBytes`. */
const record = (more: Partial<MachineRecord>): MachineRecord => ({
  ...{ sandboxId: "one", uid: null, generation: 1, vcpus: 1, memoryBytes: 256 * MiB, volumeBytes: 0 },
  ...{ networkEnabled: false, state: "starting", accelerator: "tcg", uuid: "", process: null, network: null },
  ...more
})

describe.skipIf(process.getuid?.() !== 0)("the room of a host of virtual machines", () => {
  it.live("a root disk that shares its blocks with a snapshot's has room for each of them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const root = yield* Effect.flatMap(scopedFolder, (folder) => smallDisk(folder, 240 * MiB))
        const settings = yield* Effect.provide(Settings, settingsOn(root, { ATOLL_DISK_RESERVE_BYTES: "0" }))
        // What admission asks of a host.
        const host = { root, image: { rootBytes } } as QemuHost
        const room = new HostRoom(host, settings, new HostUsers(root, null), new SnapshotStore(root))
        const folder = new SandboxFolder(root, "one")
        mkdirSync(folder.path)
        writeFileSync(folder.file("overlay"), Buffer.alloc(writtenBytes, 1))
        const copied = (bytes: number) => room.copying(join(root, "copy"), bytes, Effect.void)
        const leftFor = overlayMaxBytes(rootBytes) - writtenBytes
        yield* Effect.promise(() => folder.write(record({})))
        yield* copied(leftFor)
        yield* Effect.promise(() => folder.write(record({ sharedRootBytes: writtenBytes })))
        expect(yield* Effect.flip(copied(leftFor + 40 * MiB))).toMatchObject({ _tag: "NoRoom" })
        yield* Effect.promise(() => folder.write(record({})))
        yield* copied(leftFor + 40 * MiB)
        // Its next boot has a new root disk.
        const { uid: _, ...next } = record({ generation: 2 })
        yield* Effect.promise(() => folder.write(record({ sharedRootBytes: writtenBytes })))
        expect(yield* room.admit(next)).not.toHaveProperty("sharedRootBytes")
      })
    )
  )
})
