/**
 * The record of one Sandbox's machine on this host: `<data>/runtime/qemu/<sandboxId>/record.json`.
 *
 * The service owns the folder and the sockets in it on which QEMU listens. QEMU's user owns only the files that QEMU writes. So a guest that took
 * over its QEMU can change neither the record nor the sockets to which the service connects.
 */
import { chmod, chown, mkdir, open, rm } from "node:fs/promises"
import { Option, Schema } from "effect"
import { readRecord, sandboxFolder, sandboxIdsIn, WrittenProcess, writeRecord } from "../linux/SandboxRecords.ts"
import { machineFiles } from "./machineArguments.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const MachineRecord = Schema.Struct({
  sandboxId: Schema.String,
  /** Null: the service's user. */
  uid: Schema.NullOr(Count),
  generation: Count,
  /** With tenths. */
  vcpus: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
  memoryBytes: Count,
  volumeBytes: Count,
  /** The volume began with this many bytes that it shares with a snapshot, and may come to need for itself. Absent: 0. */
  sharedBytes: Schema.optionalKey(Count),
  /** The same of its root disk. */
  sharedRootBytes: Schema.optionalKey(Count),
  /** The generation after whose end the volume was last replaced by a snapshot's. Absent: never. */
  restoredAfter: Schema.optionalKey(Count),
  /** Which machines can go on with the memory that lies beside that volume (`machineKey`). Absent or null: the snapshot had none. */
  restoredMachine: Schema.optionalKey(Schema.NullOr(Schema.String)),
  networkEnabled: Schema.Boolean,
  /** Of the image whose files are its root. Absent: its root is the host's own. */
  imageDigest: Schema.optionalKey(Schema.String),
  /**
   * `starting`: QEMU may run, and the guest has not answered yet. `running`: the guest has answered. `suspended`: its memory is saved. `waking`: that
   * memory is loaded and the machine may have continued. `stopped`: only the volume is left.
   */
  state: Schema.Literals(["starting", "running", "suspended", "waking", "stopped"]),
  /** It goes on with the memory of a snapshot, and no client has seen it running yet. */
  isFork: Schema.optionalKey(Schema.Boolean),
  accelerator: Schema.Literals(["kvm", "tcg"]),
  /** Part of QEMU's command line: finds a process whose pid was never recorded. */
  uuid: Schema.String,
  process: Schema.NullOr(WrittenProcess),
  /** slirp4netns of a machine with network. */
  network: Schema.NullOr(WrittenProcess)
})
export type MachineRecord = typeof MachineRecord.Type

const decode = Schema.decodeUnknownOption(MachineRecord)

const decodeConsole = Schema.decodeUnknownOption(Schema.Struct({ generation: Count, offset: Count }))

export class SandboxFolder {
  readonly path: string
  readonly sandboxId: string

  constructor(root: string, sandboxId: string) {
    this.sandboxId = sandboxId
    this.path = sandboxFolder(root, sandboxId)
  }

  file(name: keyof typeof machineFiles): string {
    return `${this.path}/${machineFiles[name]}`
  }

  /** Null when the record is missing or unreadable: then nothing that it named is known to exist. */
  async read(): Promise<MachineRecord | null> {
    return Option.getOrNull(decode(readRecord(`${this.path}/record.json`)))
  }

  async write(record: MachineRecord): Promise<void> {
    await writeRecord(`${this.path}/record.json`, record, { durable: false })
  }

  /** The number of bytes read from this generation's console. */
  async consoleOffset(generation: number): Promise<number> {
    const noted = Option.getOrNull(decodeConsole(readRecord(`${this.path}/console.json`)))
    return noted?.generation === generation ? noted.offset : 0
  }

  async noteConsoleOffset(generation: number, offset: number): Promise<void> {
    await writeRecord(`${this.path}/console.json`, { generation, offset }, { durable: false })
  }

  /** Prepares the folder, with a fresh `run` folder for QEMU's sockets, which QEMU itself may not create. */
  async prepare(uid: number | null): Promise<void> {
    await mkdir(this.path, { recursive: true })
    await chmod(this.path, uid === null ? 0o700 : 0o711)
    await rm(`${this.path}/run`, { recursive: true, force: true })
    await mkdir(`${this.path}/run`, { mode: 0o700 })
  }

  /** Creates an empty file that QEMU's user may write. */
  async makeEmpty(name: keyof typeof machineFiles, uid: number | null): Promise<void> {
    await rm(this.file(name), { force: true })
    const file = await open(this.file(name), "wx", 0o600)
    await file.close()
    if (uid !== null) await chown(this.file(name), uid, uid)
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true })
  }
}

/** Every Sandbox that has a folder below `root`. */
export const sandboxFolders = async (root: string): Promise<ReadonlyArray<SandboxFolder>> =>
  sandboxIdsIn(root).map((sandboxId) => new SandboxFolder(root, sandboxId))

export const recordsIn = async (folders: ReadonlyArray<SandboxFolder>): Promise<ReadonlyArray<MachineRecord>> => {
  const records = await Promise.all(folders.map((folder) => folder.read()))
  return records.flatMap((record) => (record === null ? [] : [record]))
}
