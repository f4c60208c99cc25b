/** What of this host is given to machines: asks `Admission` with what is held by now, and writes down who was let in. */
import { Effect, Semaphore } from "effect"
import type { SettingsShape } from "../../Config.ts"
import type { RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt } from "../linux/attempt.ts"
import type { HostUsers } from "../linux/HostUsers.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import { type Held, heldBy, refusal } from "./Admission.ts"
import type { QemuHost } from "./QemuHost.ts"
import { processOf } from "./recordedProcess.ts"
import { type MachineRecord, SandboxFolder, sandboxFolders } from "./SandboxFolder.ts"

export class HostRoom {
  private readonly host: QemuHost
  private readonly settings: SettingsShape
  private readonly uids: HostUsers
  private readonly admissions = Semaphore.makeUnsafe(1)

  constructor(host: QemuHost, settings: SettingsShape, uids: HostUsers) {
    this.host = host
    this.settings = settings
    this.uids = uids
  }

  /** Refuses, or writes down that this machine is being started. One at a time: two must not both take the last room. */
  admit(record: Omit<MachineRecord, "uid">): Effect.Effect<MachineRecord, RuntimeRefused | RuntimeUnavailable> {
    const folder = new SandboxFolder(this.host.root, record.sandboxId)
    return this.admissions.withPermits(1)(
      Effect.gen({ self: this }, function* () {
        const known = yield* attempt("reading a record", () => folder.read())
        const newVolume = (yield* attempt("looking for a volume", () => allocatedBytes(folder.file("volume")))) === null
        yield* this.hasRoom(record, newVolume)
        return yield* attempt("preparing a machine", async () => {
          // The volume is its user's.
          const uid = known === null ? await this.uids.take(record.sandboxId) : known.uid
          await folder.prepare(uid)
          const admitted = { ...record, uid }
          await folder.write(admitted)
          return admitted
        })
      })
    )
  }

  /** Refuses when there is no room for this machine beside the others. */
  hasRoom(
    record: Omit<MachineRecord, "uid">,
    newVolume: boolean
  ): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> {
    const { vmMemoryBytes, vmDiskReserveBytes } = this.settings
    const limits = { memoryBytes: vmMemoryBytes, diskReserveBytes: vmDiskReserveBytes }
    return this.held(record.sandboxId).pipe(
      Effect.flatMap((held) =>
        attempt("measuring the host", () => refusal({ ...record, newVolume }, held, limits, this.host.root))
      ),
      Effect.flatMap((refused) => (refused === null ? Effect.void : Effect.fail(refused)))
    )
  }

  /** Every volume and machine but this Sandbox's own. */
  private held(but: string): Effect.Effect<ReadonlyArray<Held>, RuntimeUnavailable> {
    return attempt("counting machines", async () => {
      const held: Array<Held> = []
      for (const folder of await sandboxFolders(this.host.root)) {
        if (folder.sandboxId === but) continue
        const record = await folder.read()
        if (record === null) continue
        const runs = record.state === "starting" || processOf(record) !== null
        held.push(heldBy(record, runs, (await allocatedBytes(folder.file("volume"))) ?? 0))
      }
      return held
    })
  }
}
