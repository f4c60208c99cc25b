/**
 * Makes the volume of a running machine larger: its image, the disk that the guest sees, and the file system in it. What fails in between is done by
 * the next boot, before the machine starts (`ensureVolume`).
 */
import { Effect } from "effect"
import { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import { growVolumeFile, isGrowing } from "../linux/volumeImage.ts"
import type { HostRoom } from "./HostRoom.ts"
import type { LiveMachine } from "./LiveMachines.ts"
import { limitFileSize } from "./launchQemu.ts"
import { fileMaxBytes } from "./machineArguments.ts"
import type { QemuHost } from "./QemuHost.ts"
import type { MachineRecord, SandboxFolder } from "./SandboxFolder.ts"

const GROW_TIMEOUT_MS = 10_000

/** Its volume is smaller, or was not made larger in full. */
export const mustGrow = (folder: SandboxFolder, record: MachineRecord, volumeBytes: number): boolean =>
  record.volumeBytes < volumeBytes || (record.volumeBytes === volumeBytes && isGrowing(folder.file("volume")))

/** The caller holds the machine's lock. */
export const growRunning = (
  { host, room }: { readonly host: QemuHost; readonly room: HostRoom },
  folder: SandboxFolder,
  live: LiveMachine,
  volumeBytes: number
): Effect.Effect<void, RuntimeUnavailable> =>
  Effect.gen(function* () {
    if (live.stall) return yield* RuntimeUnavailable.known(live.stall.message)
    const { machine } = live
    const larger = { ...live.record, volumeBytes }
    yield* room
      .readmit(larger)
      .pipe(Effect.catchTag("NoRoom", ({ detail }) => unavailable(`Its volume does not grow now. ${detail}`)))
    const most = fileMaxBytes({ ...larger, network: larger.networkEnabled }, host.image.rootBytes)
    yield* limitFileSize(machine.process.pid, larger.uid, most)
    yield* attempt("growing a volume", async () => {
      live.record = larger
      await folder.write(larger)
      await growVolumeFile(folder.file("volume"), volumeBytes, async () => {
        await machine.qmp.execute("block_resize", { "node-name": "volume", size: volumeBytes })
        await machine.boot.grow(volumeBytes, GROW_TIMEOUT_MS)
        return true
      })
    })
  })
