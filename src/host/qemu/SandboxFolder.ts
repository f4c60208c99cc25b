/**
 * What is written down about one Sandbox's machine on this host: `<data>/runtime/qemu/<sandboxId>/record.json`.
 *
 * The folder is ours, with the sockets that QEMU listens on; its user owns only the files that it writes, so that a guest which took over its QEMU
 * cannot change what we read here, nor what we connect to.
 */
import { chmod, chown, mkdir, open, rm } from "node:fs/promises"
import { Option, Schema } from "effect"
import { readRecord, sandboxFolder, sandboxIdsIn, WrittenProcess, writeRecord } from "../linux/SandboxRecords.ts"
import { machineFiles } from "./machineArguments.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const MachineRecord = Schema.Struct({
  sandboxId: Schema.String,
  /** Null: our own user. */
  uid: Schema.NullOr(Count),
  generation: Count,
  vcpus: Count,
  memoryBytes: Count,
  volumeBytes: Count,
  networkEnabled: Schema.Boolean,
  /**
   * `starting`: QEMU may run and the guest has not answered yet. `running`: it has. `suspended`: its memory is saved. `waking`: that memory is loaded and
   * may have gone on. `stopped`: only the volume is left.
   */
  state: Schema.Literals(["starting", "running", "suspended", "waking", "stopped"]),
  accelerator: Schema.Literals(["kvm", "tcg"]),
  /** On QEMU's command line: finds a process that was started and never written down. */
  uuid: Schema.String,
  process: Schema.NullOr(WrittenProcess),
  /** slirp4netns, when there is a network. */
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

  /** Null when there is none, or none that can be read: then nothing that it named is known to exist. */
  async read(): Promise<MachineRecord | null> {
    return Option.getOrNull(decode(readRecord(`${this.path}/record.json`)))
  }

  async write(record: MachineRecord): Promise<void> {
    await writeRecord(`${this.path}/record.json`, record, { durable: false })
  }

  /** How many bytes of this generation's console have been read. */
  async consoleOffset(generation: number): Promise<number> {
    const noted = Option.getOrNull(decodeConsole(readRecord(`${this.path}/console.json`)))
    return noted?.generation === generation ? noted.offset : 0
  }

  async noteConsoleOffset(generation: number, offset: number): Promise<void> {
    await writeRecord(`${this.path}/console.json`, { generation, offset }, { durable: false })
  }

  /** The folder and what QEMU opens in it, with a fresh `run` folder for its sockets, which are not its own to make. */
  async prepare(uid: number | null): Promise<void> {
    await mkdir(this.path, { recursive: true })
    await chmod(this.path, uid === null ? 0o700 : 0o711)
    await rm(`${this.path}/run`, { recursive: true, force: true })
    await mkdir(`${this.path}/run`, { mode: 0o700 })
  }

  /** An empty file that QEMU's user may write. */
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

/** Every Sandbox of which anything is left below `root`. */
export const sandboxFolders = async (root: string): Promise<ReadonlyArray<SandboxFolder>> =>
  sandboxIdsIn(root).map((sandboxId) => new SandboxFolder(root, sandboxId))
