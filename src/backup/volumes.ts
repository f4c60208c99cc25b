/** The volumes of a data folder, out of it and into another. */
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { chmod, chown, type FileHandle, mkdir, open, stat } from "node:fs/promises"
import { join } from "node:path"
import { fileExtents } from "../host/linux/fileExtents.ts"
import { readRecord, sandboxFolder, sandboxIdsIn, writeRecord } from "../host/linux/SandboxRecords.ts"
import { HostLayout } from "../host/namespace/HostLayout.ts"
import { isUp, type SandboxState } from "../host/namespace/SandboxState.ts"
import { isMounted } from "../host/namespace/volume.ts"
import { holdingStill } from "../host/namespace/volumeHold.ts"
import type { ArchivedVolume } from "./Archive.ts"
import { ArchiveUnusable } from "./ArchiveUnusable.ts"
import { readTree, TreeWriter } from "./tree.ts"

/** What is read, and found to be a hole, at once. */
const readBytes = 1024 ** 2
const grain = 64 * 1024
const zeros = Buffer.alloc(readBytes)

export type Take = (offset: number, bytes: Buffer) => Promise<void>

export interface Volume {
  readonly about: ArchivedVolume
  /** Of the host's disk. */
  readonly allocatedBytes: number
  /** Reads what is in it while nobody writes. `begin` comes before the first piece, and again where it has to be read anew. */
  readonly read: (begin: () => Promise<void>, take: Take) => Promise<void>
}

/** Whatever is no hole, in pieces. */
const readImage = async (path: string, take: Take): Promise<void> => {
  const file = await open(path, "r")
  try {
    const { size } = await file.stat()
    for (const [from, to] of (await fileExtents(path)) ?? [[0, size]]) {
      for (let offset = from; offset < Math.min(to, size); ) {
        const buffer = Buffer.allocUnsafe(Math.min(readBytes, Math.min(to, size) - offset))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, offset)
        if (bytesRead === 0) break
        for (const [start, end] of filled(buffer.subarray(0, bytesRead))) {
          await take(offset + start, buffer.subarray(start, end))
        }
        offset += bytesRead
      }
    }
  } finally {
    await file.close()
  }
}

/** Where a buffer is not only zeros, by the grain. */
const filled = (buffer: Buffer): ReadonlyArray<readonly [number, number]> => {
  if (buffer.equals(zeros.subarray(0, buffer.length))) return []
  const parts: Array<[number, number]> = []
  for (let from = 0; from < buffer.length; from += grain) {
    const to = Math.min(from + grain, buffer.length)
    if (buffer.subarray(from, to).equals(zeros.subarray(0, to - from))) continue
    const last = parts.at(-1)
    if (last?.[1] === from) last[1] = to
    else parts.push([from, to])
  }
  return parts
}

const namespaceRoot = (dataDir: string): string => join(dataDir, "runtime/namespace")
const qemuRoot = (dataDir: string): string => join(dataDir, "runtime/qemu")

/** Nothing holds a folder still but that nothing runs in it. */
const plainFolder = (state: SandboxState): Volume => {
  const { sandboxId } = state
  const requireStopped = () => {
    const record = state.runtime()
    if (record === null || !isUp(record)) return
    throw new ArchiveUnusable({
      message: `${sandboxId} runs, and its volume is a plain folder, as without root, which cannot be held still: stop it first, or all with atoll down.`
    })
  }
  requireStopped()
  return {
    about: { sandboxId, driver: "namespace", form: "tree", bytes: 0, record: state.spec() },
    allocatedBytes: 0,
    read: async (begin, take) => {
      await begin()
      let offset = 0
      await readTree(state.folder, "volume", async (bytes) => {
        await take(offset, bytes)
        offset += bytes.length
      })
      requireStopped()
    }
  }
}

const namespaceVolume = async (layout: HostLayout, sandboxId: string): Promise<Volume | null> => {
  const state = layout.state(sandboxId)
  const { image, folder } = layout.volume(state)
  const record = state.runtime()
  if (image === null) {
    return existsSync(folder) ? plainFolder(state) : null
  }
  if (!existsSync(image)) return null
  if (record !== null && isUp(record) && !isMounted(folder)) {
    throw new ArchiveUnusable({
      message: `${sandboxId} runs, and its volume is not mounted in ${folder} as seen from here: run the backup where Atoll runs.`
    })
  }
  const { size, blocks } = await stat(image)
  return {
    about: { sandboxId, driver: "namespace", form: "image", bytes: size, record: state.spec() },
    allocatedBytes: blocks * 512,
    read: (begin, take) =>
      holdingStill(
        image,
        folder,
        () => isMounted(folder),
        async () => {
          await begin()
          await readImage(image, take)
        }
      )
  }
}

const stoppedMachine = (root: string, sandboxId: string) => {
  const record = readRecord(join(sandboxFolder(root, sandboxId), "record.json")) as Record<string, unknown> | null
  return record?.["state"] === "stopped" ? record : null
}

const qemuVolume = async (root: string, sandboxId: string): Promise<Volume | null> => {
  const image = join(sandboxFolder(root, sandboxId), "volume")
  if (!existsSync(image)) return null
  const record = stoppedMachine(root, sandboxId)
  const alive = new ArchiveUnusable({
    message: `The virtual machine of ${sandboxId} runs or sleeps, and what it holds in memory is not on its volume: stop it first, or all with atoll down.`
  })
  if (record === null) throw alive
  const { size, blocks } = await stat(image)
  return {
    about: { sandboxId, driver: "qemu", form: "image", bytes: size, record },
    allocatedBytes: blocks * 512,
    read: async (begin, take) => {
      const before = (await stat(image, { bigint: true })).mtimeNs
      await begin()
      await readImage(image, take)
      const isSame = (await stat(image, { bigint: true })).mtimeNs === before
      if (!isSame || stoppedMachine(root, sandboxId) === null) throw alive
    }
  }
}

/** Those of these Sandboxes; one may have none yet. Throws where one cannot be held still. */
export const volumesIn = async (dataDir: string, sandboxIds: ReadonlySet<string>): Promise<ReadonlyArray<Volume>> => {
  const found: Array<Volume | null> = []
  const namespaces = sandboxIdsIn(namespaceRoot(dataDir)).filter((id) => sandboxIds.has(id))
  if (namespaces.length > 0) {
    const layout = HostLayout.at(dataDir)
    for (const id of namespaces) found.push(await namespaceVolume(layout, id))
  }
  for (const id of sandboxIdsIn(qemuRoot(dataDir)).filter((it) => sandboxIds.has(it))) {
    found.push(await qemuVolume(qemuRoot(dataDir), id))
  }
  return found.filter((it) => it !== null)
}

/** A volume on its way into a data folder. */
export class RestoredVolume {
  private readonly into: FileHandle | TreeWriter

  private constructor(into: FileHandle | TreeWriter) {
    this.into = into
  }

  /** Its folder, what the driver has to know of it, and an image that is one hole. Nothing of what ran there. */
  static async make(
    dataDir: string,
    { sandboxId, driver, form, bytes, record }: ArchivedVolume
  ): Promise<RestoredVolume> {
    const root = driver === "namespace" ? namespaceRoot(dataDir) : qemuRoot(dataDir)
    const folder = sandboxFolder(root, sandboxId)
    const isRoot = process.getuid?.() === 0
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (isRoot) for (const path of [join(dataDir, "runtime"), root]) await chmod(path, 0o711)
    const known = record as { readonly uid: number | null } | null
    const image = join(folder, driver === "namespace" ? "volume.img" : "volume")
    if (known !== null && driver === "namespace") {
      await writeRecord(join(folder, "spec.json"), { ...known, uid: isRoot ? known.uid : null }, { durable: true })
    }
    if (known !== null && driver === "qemu") {
      await chmod(folder, isRoot ? 0o711 : 0o700)
      const own = { state: "stopped", uuid: randomUUID(), process: null, network: null }
      await writeRecord(
        join(folder, "record.json"),
        { ...known, uid: isRoot ? known.uid : null, ...own },
        { durable: true }
      )
    }
    if (form === "tree") return new RestoredVolume(new TreeWriter(folder))
    const file = await open(image, "w", 0o600)
    await file.truncate(bytes)
    if (isRoot && driver === "qemu" && typeof known?.uid === "number") await chown(image, known.uid, known.uid)
    return new RestoredVolume(file)
  }

  async put(offset: number, bytes: Uint8Array): Promise<void> {
    if (this.into instanceof TreeWriter) return this.into.put(bytes)
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await this.into.write(bytes, written, bytes.length - written, offset + written)
      written += bytesWritten
    }
  }

  async close(): Promise<void> {
    if (!(this.into instanceof TreeWriter)) await this.into.sync()
    await this.into.close()
  }
}
