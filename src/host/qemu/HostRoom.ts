/** Admits machines to this host: checks `Admission` against everything that is reserved now, and records each admitted machine. */
import { Effect, Schema, Semaphore } from "effect"
import type { SettingsShape } from "../../Config.ts"
import type { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt } from "../linux/attempt.ts"
import { diskObstacle, type PromisedFile } from "../linux/diskRoom.ts"
import type { HostUsers } from "../linux/HostUsers.ts"
import type { SnapshotStore } from "../linux/SnapshotStore.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import { type Held, obstacle } from "./Admission.ts"
import { overlayMaxBytes } from "./machineArguments.ts"
import type { QemuHost } from "./QemuHost.ts"
import { processOf } from "./recordedProcess.ts"
import { type MachineRecord, SandboxFolder, sandboxFolders } from "./SandboxFolder.ts"

/** `detail` is for the operator only: a tenant must not learn the host's size. */
export class NoRoom extends Schema.TaggedError<NoRoom>()("NoRoom", { detail: Schema.String }) {}

type Wanted = Omit<MachineRecord, "uid">

/** Files that no machine writes. */
const ofNoMachine = (files: ReadonlyArray<PromisedFile>): Held => ({
  memoryBytes: 0,
  accelerator: "tcg",
  running: false,
  files
})

export class HostRoom {
  private readonly host: QemuHost
  private readonly settings: SettingsShape
  private readonly uids: HostUsers
  private readonly snapshots: SnapshotStore
  private readonly admissions = Semaphore.makeUnsafe(1)
  /** Images of Sandboxes and snapshots that are being written, with their sizes on the disk. */
  private readonly copies = new Map<string, number>()

  constructor(host: QemuHost, settings: SettingsShape, uids: HostUsers, snapshots: SnapshotStore) {
    this.snapshots = snapshots
    this.host = host
    this.settings = settings
    this.uids = uids
  }

  /** Refuses the machine, or records that it is being started. One at a time: two concurrent admissions could both take the last room. */
  admit(record: Wanted): Effect.Effect<MachineRecord, NoRoom | RuntimeUnavailable> {
    const folder = new SandboxFolder(this.host.root, record.sandboxId)
    return this.admissions.withPermits(1)(
      Effect.gen({ self: this }, function* () {
        const known = yield* attempt("reading a record", () => folder.read())
        yield* this.hasRoom(record)
        return yield* attempt("preparing a machine", async () => {
          // A known machine keeps its user, because that user owns the volume.
          const uid = known === null ? await this.uids.take(record.sandboxId) : known.uid
          await folder.prepare(uid)
          // Of an earlier boot.
          const { imageDigest: _, sharedRootBytes: __, ...kept } = known ?? {}
          const admitted = { ...kept, ...record, uid }
          await folder.write(admitted)
          return admitted
        })
      })
    )
  }

  /** The same check for a sleeping machine. Its record stays `suspended` until it is awake, so two concurrent wakes are told apart by the room they hold. */
  readmit(record: MachineRecord): Effect.Effect<void, NoRoom | RuntimeUnavailable> {
    return this.admissions.withPermits(1)(this.hasRoom(record))
  }

  /** Refuses when the disk has no room for the memory of a machine that is to sleep. */
  hasRoomToSleep(record: MachineRecord): Effect.Effect<void, NoRoom | RuntimeUnavailable> {
    const { root } = this.host
    return this.held(record.sandboxId).pipe(
      Effect.flatMap((held) =>
        attempt("measuring the host", async () =>
          diskObstacle({
            folder: root,
            held: [...held.flatMap(({ files }) => files), ...(await this.filesOf(record, true))],
            wanted: [{ bytes: record.memoryBytes, allocatedBytes: 0 }],
            reserveBytes: this.settings.diskReserveBytes
          })
        )
      ),
      Effect.flatMap(refuseFor)
    )
  }

  /** Runs `copy`, which writes that many bytes to `path`; refuses where the disk has no room for them. */
  copying<A, E>(
    path: string,
    bytes: number,
    copy: Effect.Effect<A, E>
  ): Effect.Effect<A, E | NoRoom | RuntimeUnavailable> {
    return this.take(path, bytes).pipe(Effect.andThen(copy), Effect.ensuring(Effect.sync(() => this.giveBack(path))))
  }

  /** Takes room for a file that grows to that many bytes, until `giveBack`. What was taken before stays taken when it refuses. */
  take(path: string, bytes: number): Effect.Effect<void, NoRoom | RuntimeUnavailable> {
    const admit = Effect.suspend(() => {
      const more = bytes - (this.copies.get(path) ?? 0)
      const taken = Effect.sync(() => this.copies.set(path, bytes))
      return more <= 0 ? Effect.void : Effect.andThen(this.hasRoomFor(more), taken)
    })
    return Effect.asVoid(this.admissions.withPermits(1)(admit))
  }

  giveBack(path: string): void {
    this.copies.delete(path)
  }

  private hasRoomFor(bytes: number): Effect.Effect<void, NoRoom | RuntimeUnavailable> {
    return this.held(null).pipe(
      Effect.flatMap((held) =>
        attempt("measuring the host", () =>
          diskObstacle({
            folder: this.host.root,
            held: held.flatMap(({ files }) => files),
            wanted: [{ bytes, allocatedBytes: 0 }],
            reserveBytes: this.settings.diskReserveBytes
          })
        )
      ),
      Effect.flatMap(refuseFor)
    )
  }

  private hasRoom(record: Wanted): Effect.Effect<void, NoRoom | RuntimeUnavailable> {
    const { vmMemoryBytes, diskReserveBytes } = this.settings
    const limits = { memoryBytes: vmMemoryBytes, diskReserveBytes }
    return this.held(record.sandboxId).pipe(
      Effect.flatMap((held) =>
        attempt("measuring the host", async () => {
          const files = await this.filesOf(record, true)
          return obstacle({ ...record, files }, held, limits, this.host.root)
        })
      ),
      Effect.flatMap(refuseFor)
    )
  }

  /** The files that a machine may write on this host: its volume as long as it exists, its root disk while it runs. */
  private async filesOf(record: Wanted, runs: boolean): Promise<ReadonlyArray<PromisedFile>> {
    const folder = new SandboxFolder(this.host.root, record.sandboxId)
    const file = async (name: "volume" | "overlay", bytes: number, sharedBytes = 0) => ({
      bytes,
      allocatedBytes: Math.max(0, ((await allocatedBytes(folder.file(name))) ?? 0) - sharedBytes)
    })
    const volume = file("volume", record.volumeBytes, record.sharedBytes)
    if (!runs) return [await volume]
    return Promise.all([volume, file("overlay", overlayMaxBytes(this.host.image.rootBytes), record.sharedRootBytes)])
  }

  /** Every volume, machine and snapshot except this Sandbox's. */
  private held(but: string | null): Effect.Effect<ReadonlyArray<Held>, RuntimeUnavailable> {
    return attempt("counting machines", async () => {
      const machine = async (folder: SandboxFolder): Promise<ReadonlyArray<Held>> => {
        const record = folder.sandboxId === but ? null : await folder.read()
        if (record === null) return []
        const running = record.state === "starting" || processOf(record) !== null
        const { memoryBytes, accelerator } = record
        return [{ memoryBytes, accelerator, running, files: await this.filesOf(record, running) }]
      }
      const copies = [...this.copies].map(async ([path, bytes]) => ({
        bytes,
        allocatedBytes: (await allocatedBytes(path)) ?? 0
      }))
      const [machines, promised, copied] = await Promise.all([
        sandboxFolders(this.host.root).then((folders) => Promise.all(folders.map(machine))),
        this.snapshots.promised(),
        Promise.all(copies)
      ])
      return [...machines.flat(), ofNoMachine([...promised, ...copied])]
    })
  }
}

const refuseFor = (detail: string | null): Effect.Effect<void, NoRoom> =>
  detail === null ? Effect.void : Effect.fail(new NoRoom({ detail }))
