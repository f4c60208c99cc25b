/** Tar archives made by hand, valid ones and others; and the description of a tree of files, to compare two. */
import fs from "node:fs"
import path from "node:path"
import { blockBytes, paddingOf, type TarHeader, writeHeader } from "../../../src/platform/tar/tarHeader.ts"

/** Names are byte strings. */
interface Header extends Omit<TarHeader, "name" | "target"> {
  readonly name: string
  readonly target: string
}

const bytesOf = (byteString: string) => Buffer.from(byteString, "latin1")

const some: Header = { name: "f", target: "", mode: 0o644, size: 0, mtime: 1_000_000_000, type: "0" }

/** One entry with its content. */
export const entry = (told: Partial<Header>, content: string | Uint8Array = ""): Buffer => {
  const bytes = typeof content === "string" ? Buffer.from(content) : content
  const { name, target, ...rest } = { ...some, size: bytes.byteLength, ...told }
  const header = writeHeader({ ...rest, name: bytesOf(name), target: bytesOf(target) })
  return Buffer.concat([header, bytes, Buffer.alloc(paddingOf(bytes.byteLength))])
}

export const end = Buffer.alloc(2 * blockBytes)
export const tape = (...parts: ReadonlyArray<Uint8Array>): Buffer => Buffer.concat([...parts, end])

/** The same header with other bytes at `at`, and a recomputed checksum. */
export const forged = (header: Buffer, at: number, bytes: string | Uint8Array): Buffer => {
  const block = Buffer.from(header)
  block.set(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes, at)
  block.fill(0x20, 148, 156)
  const sum = block.subarray(0, blockBytes).reduce((all, byte) => all + byte, 0)
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1")
  return block
}

/** `path: kind mode time content`, sorted; hard links of one file have the same number. Times in whole seconds. */
export const treeOf = (root: string): ReadonlyArray<string> => {
  const numbers = new Map<bigint, number>()
  const lines: Array<string> = []
  const walk = (directory: Buffer, shown: string) => {
    for (const name of fs.readdirSync(directory, { encoding: "buffer" })) {
      const full = Buffer.concat([directory, Buffer.from("/"), name])
      const stat = fs.lstatSync(full, { bigint: true })
      const at = `${shown}${name.toString("latin1")}`
      const mode = (Number(stat.mode) & 0o7777).toString(8)
      const seconds = Math.floor(Number(stat.mtimeMs) / 1000)
      if (stat.nlink > 1n && !stat.isDirectory() && !numbers.has(stat.ino)) numbers.set(stat.ino, numbers.size)
      const same = numbers.get(stat.ino)
      const linked = same === undefined || stat.isDirectory() ? "" : ` #${stat.nlink}`
      if (stat.isDirectory()) {
        lines.push(`${at}/: ${mode} ${seconds}`)
        walk(full, `${at}/`)
      } else if (stat.isSymbolicLink()) lines.push(`${at}: -> ${fs.readlinkSync(full, "latin1")}${linked}`)
      else lines.push(`${at}: ${mode} ${seconds} ${fs.readFileSync(full, "latin1")}${linked}`)
    }
  }
  walk(Buffer.from(path.resolve(root)), "")
  return lines.toSorted()
}
