/** Writes a merged tree as one read-only file system: as one tar archive into `mksquashfs`, which makes no file of it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { blockBytes, entryTypes, paddingOf, writeHeader } from "../../platform/tar/tarHeader.ts"
import { HOST_ENVIRONMENT } from "../linux/hostCommand.ts"
import { printable } from "../linux/printable.ts"
import type { ImageFolder } from "./ImageTree.ts"
import type { Spool } from "./Spool.ts"
import { type Entry, entriesOf } from "./treeEntries.ts"

const PIECE_BYTES = 1024 ** 2
const SAID_MAX_CHARS = 1_000
const END = Buffer.alloc(2 * blockBytes)

/** zstd reads as fast as no compression here, and takes half the disk. `sqfstar` of Debian 12 takes no level of compression. */
const argvOf = (path: string): ReadonlyArray<string> => [
  ...["-", path, "-tar", "-comp", "zstd", "-Xcompression-level", "1", "-mem", "256M"],
  ...["-no-xattrs", "-all-root", "-root-mode", "0755", "-root-time", "0", "-mkfs-time", "0", "-quiet", "-no-progress"]
]

const headerOf = (entry: Entry): Uint8Array =>
  writeHeader({
    name: Buffer.from(entry.is === "folder" ? `${entry.name}/` : entry.name, "latin1"),
    target: Buffer.from(entry.is === "symlink" || entry.is === "again" ? entry.target : "", "latin1"),
    // All files are root's, and no process of a Sandbox is: what their owner may read and run, it may.
    mode: entry.mode | ((entry.mode >> 6) & 0o5),
    size: entry.is === "file" ? entry.size : 0,
    mtime: entry.mtime,
    type: {
      file: entryTypes.file,
      again: entryTypes.hardLink,
      symlink: entryTypes.symlink,
      folder: entryTypes.directory
    }[entry.is]
  })

/** In pieces that are worth a write. */
async function* archiveOf(root: ImageFolder, spool: Spool): AsyncGenerator<Buffer, void, undefined> {
  let parts: Array<Uint8Array> = []
  let bytes = 0
  const add = (part: Uint8Array) => {
    parts.push(part)
    bytes += part.length
  }
  const piece = () => {
    const all = Buffer.concat(parts)
    parts = []
    bytes = 0
    return all
  }
  for (const entry of entriesOf(root)) {
    add(headerOf(entry))
    if (entry.is === "file") {
      for (let at = 0; at < entry.size; ) {
        const content = await spool.read(entry.offset + at, Math.min(PIECE_BYTES, entry.size - at))
        at += content.length
        add(content)
        if (bytes >= PIECE_BYTES) yield piece()
      }
      add(new Uint8Array(paddingOf(entry.size)))
    }
    if (bytes >= PIECE_BYTES) yield piece()
  }
  add(END)
  yield piece()
}

/** Rejects where the program fails, or with the reason of `signal`; the file is then incomplete. */
export const writeSquashfs = async (
  root: ImageFolder,
  spool: Spool,
  path: string,
  signal: AbortSignal
): Promise<void> => {
  await spool.flush()
  const child = spawn("mksquashfs", argvOf(path), {
    cwd: "/",
    env: HOST_ENVIRONMENT,
    stdio: ["pipe", "ignore", "pipe"]
  })
  let said = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (said.length < SAID_MAX_CHARS) said += text
  })
  const ended = new Promise<number | null>((resolve) => {
    child.on("close", resolve)
    child.on("error", (cause) => {
      said += cause.message
      resolve(null)
    })
  })
  // It may end before it has read everything.
  let isOpen = true
  const shut = () => {
    isOpen = false
  }
  child.stdin.on("error", shut)
  const kill = () => void child.kill("SIGKILL")
  signal.addEventListener("abort", kill)
  try {
    for await (const piece of archiveOf(root, spool)) {
      signal.throwIfAborted()
      if (!isOpen) break
      if (!child.stdin.write(piece)) await Promise.race([once(child.stdin, "drain").catch(shut), ended])
    }
    child.stdin.end()
    const code = await ended
    signal.throwIfAborted()
    if (code !== 0) throw new Error(`mksquashfs ended with ${code}: ${printable(said, SAID_MAX_CHARS)}`)
  } catch (cause) {
    kill()
    await ended
    throw cause
  } finally {
    signal.removeEventListener("abort", kill)
  }
}
