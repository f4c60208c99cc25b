/** Ends machines: halts one after it wrote its data, kills it, or suspends it to disk; and removes its files. */
import { rm } from "node:fs/promises"
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import type { HostUsers } from "../linux/HostUsers.ts"
import { goneWithin, isAlive, signal } from "../linux/ProcessIdentity.ts"
import type { HostRoom } from "./HostRoom.ts"
import type { LiveMachines } from "./LiveMachines.ts"
import { killProcess, saveState, stopPrograms } from "./Machine.ts"
import { machineFiles } from "./machineArguments.ts"
import { removeMachineCgroups } from "./machineCgroups.ts"
import { hasRoomForThreads } from "./parallelSave.ts"
import type { QemuHost } from "./QemuHost.ts"
import { processOf } from "./recordedProcess.ts"
import type { MachineRecord, SandboxFolder } from "./SandboxFolder.ts"
import { bringBack, dropSavedState } from "./standstill.ts"

/** How long a guest may take to write its last data and power off. Then it is killed; its journal keeps what was synced. */
const HALT_TIMEOUT_MS = 15_000
const STALLED_HALT_TIMEOUT_MS = 3_000
const FLUSH_TIMEOUT_MS = 20_000

export class Endings {
  private readonly host: QemuHost
  private readonly live: LiveMachines
  private readonly room: HostRoom
  private readonly uids: HostUsers

  constructor(host: QemuHost, live: LiveMachines, room: HostRoom, uids: HostUsers) {
    this.host = host
    this.live = live
    this.room = room
    this.uids = uids
  }

  /** Ends a running machine after it wrote its data. A suspended machine loses its memory. */
  end(folder: SandboxFolder, record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> {
    return Effect.gen({ self: this }, function* () {
      if (record.state === "running" && (yield* this.live.adopted(folder, record))) {
        const live = this.live.get(record.sandboxId)!
        live.expected = true
        // A machine that the host had paused may have room now. If not, it cannot write its last data, however long it gets.
        if (live.stall) yield* Effect.ignore(attempt("resuming a machine", () => live.machine.qmp.execute("cont")))
        live.machine.boot.halt()
        const timeoutMs = live.stall ? STALLED_HALT_TIMEOUT_MS : HALT_TIMEOUT_MS
        yield* Effect.promise(() => goneWithin(() => isAlive(live.machine.process), timeoutMs))
      }
      yield* this.kill(record)
      yield* attempt("removing a boot's files", async () => {
        await dropSavedState(folder)
        for (const name of ["overlay", "image"] as const) await rm(folder.file(name), { force: true })
      })
    })
  }

  /** Kills the processes of this record immediately. */
  kill(record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> {
    return Effect.gen({ self: this }, function* () {
      yield* this.live.detach(record.sandboxId)
      const process = processOf(record)
      if (process !== null) yield* killProcess(process)
      // slirp4netns ends by itself with QEMU; this is for one that does not.
      if (record.network !== null) signal(record.network, "SIGKILL")
      // Waits for the removal, because a machine that wakes uses the same cgroups.
      yield* Effect.promise(() => removeMachineCgroups(this.host.cgroups, record.uuid))
    })
  }

  /** Ends the processes of the Sandbox and removes its folder with the volume. */
  remove(folder: SandboxFolder): Effect.Effect<void, RuntimeUnavailable> {
    return Effect.gen({ self: this }, function* () {
      const record = yield* attempt("reading a record", () => folder.read())
      if (record !== null) yield* this.kill(record)
      yield* attempt("removing a Sandbox", async () => {
        await folder.remove()
        await this.host.volumes.forget(folder.sandboxId)
        await this.uids.release(record?.uid ?? null, folder.sandboxId)
      })
    })
  }

  /** Saves a running machine's state and ends it. */
  suspend(folder: SandboxFolder, record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> {
    const note = (it: MachineRecord) => attempt("writing a record", () => folder.write(it))
    return Effect.gen({ self: this }, function* () {
      if (!(yield* this.live.adopted(folder, record))) {
        return yield* unavailable("That generation does not run here.")
      }
      const live = this.live.get(record.sandboxId)!
      const { machine } = live
      if (live.stall) return yield* RuntimeUnavailable.known(live.stall.message)
      yield* this.room
        .hasRoomToSleep(record)
        .pipe(
          Effect.catchTag("NoRoom", ({ detail }) =>
            Effect.andThen(
              Effect.logWarning(`Sandbox ${record.sandboxId} cannot sleep. ${detail}`),
              Effect.fail(RuntimeUnavailable.known(publicText`This host's disk has no room for the Sandbox's memory.`))
            )
          )
        )
      // If a sleeping machine is stopped later, it loses its memory but no written data.
      yield* attempt("flushing a volume", () => machine.boot.flush(FLUSH_TIMEOUT_MS))
      machine.session.close()
      yield* attempt("pausing a machine", async () => {
        await folder.makeEmpty("suspended", record.uid)
        // A snapshot may be made of what is saved: see memoryCapture.ts.
        await stopPrograms(machine)
        await machine.qmp.execute("stop")
        return await hasRoomForThreads(folder.path, record.memoryBytes)
      }).pipe(
        Effect.flatMap((byThreads) => saveState(machine, machineFiles.suspended, { memoryIsShared: false, byThreads })),
        // On a full disk the memory may have taken the last room.
        Effect.andThen(note({ ...record, state: "suspended" })),
        // It stays awake, and nothing of the sleep is left.
        Effect.tapError(() => Effect.ignore(attempt("resuming a machine", () => bringBack(folder, machine))))
      )
      live.expected = true
      yield* this.kill(record)
      // Keeps the root disk, because the saved memory refers to it.
      yield* note({ ...record, state: "suspended", process: null, network: null })
    })
  }
}
