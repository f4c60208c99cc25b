/**
 * Writes an initramfs archive in the kernel's own format.
 *
 * @source Linux Documentation/driver-api/early-userspace/buffer-format.rst ("newc")
 */
export interface CpioEntry {
  readonly path: string
  /** Type and permission bits, as `st_mode`. */
  readonly mode: number
  readonly content: Buffer
}

const padded = (bytes: Buffer): Buffer => {
  const rest = bytes.length % 4
  return rest === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(4 - rest)])
}

const record = (inode: number, entry: CpioEntry): Buffer => {
  const name = Buffer.from(`${entry.path}\0`)
  // inode, mode, uid, gid, nlink, mtime, size, dev major and minor, rdev major and minor, name length, checksum
  const fields = [inode, entry.mode, 0, 0, 1, 0, entry.content.length, 0, 0, 0, 0, name.length, 0]
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}`
  return Buffer.concat([padded(Buffer.concat([Buffer.from(header), name])), padded(entry.content)])
}

/** Directories must precede their content. Equal entries give equal bytes. */
export const cpioArchive = (entries: ReadonlyArray<CpioEntry>): Buffer =>
  Buffer.concat([
    ...entries.map((entry, index) => record(index + 1, entry)),
    record(0, { path: "TRAILER!!!", mode: 0, content: Buffer.alloc(0) })
  ])

export const directory = (path: string): CpioEntry => ({ path, mode: 0o040755, content: Buffer.alloc(0) })
export const executable = (path: string, content: Buffer): CpioEntry => ({ path, mode: 0o100755, content })
export const plainFile = (path: string, content: Buffer): CpioEntry => ({ path, mode: 0o100644, content })
