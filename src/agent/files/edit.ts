/**
 * PATCH: replaces text in a file whose whole content the caller has seen.
 *
 * Edits of one file run one after the other, so of concurrent editors that saw the same content exactly one wins. Writers inside the Sandbox take no
 * lock: just before the rename, the file is compared once more with the content read, by identity and ctime, and by content when the ctime is too
 * recent to prove it. Only the instant between that check and the rename remains.
 *
 * @source contract.md "File rules" 1
 */
import { isUtf8 } from "node:buffer"
import { createHash } from "node:crypto"
import fs from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { FileRefusal, refusalFor } from "./FileRefusal.ts"
import { contentMaxBytes } from "./limits.ts"
import type { Staging } from "./Staging.ts"
import { settled, versionOf } from "./version.ts"
import type { Held, Place, Workspace } from "./Workspace.ts"
import { commit, writeAll } from "./write.ts"

/** How often a file is read again that a process in the Sandbox keeps changing. */
const attemptsMax = 16

export interface Edit {
  readonly expectedSha256: string
  readonly oldText: string
  readonly newText: string
  readonly replaceAll: boolean
}

export interface Edited {
  readonly sizeBytes: number
  readonly sha256: string
  readonly replacements: number
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

export class Editor {
  readonly #workspace: Workspace
  readonly #staging: Staging
  /** The last running edit of each file, by directory identity and name. */
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(workspace: Workspace, staging: Staging) {
    this.#workspace = workspace
    this.#staging = staging
  }

  async edit(path: string, edit: Edit): Promise<Edited> {
    const key = this.#fileKey(path)
    const before = this.#turns.get(key)
    const mine = (async () => {
      await before?.catch(() => undefined)
      return await this.#edit(path, edit)
    })()
    this.#turns.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#turns.get(key) === mine) this.#turns.delete(key)
    }
  }

  #fileKey(path: string): string {
    using place = this.#workspace.place(path, "target")
    const { dev, ino } = fs.fstatSync(place.directory, { bigint: true })
    return `${dev}.${ino}/${place.name ?? ""}`
  }

  async #edit(path: string, edit: Edit): Promise<Edited> {
    if (edit.oldText === "") throw invalid("oldText must not be empty.", "old_text_empty")
    if (!edit.oldText.isWellFormed() || !edit.newText.isWellFormed()) {
      throw invalid("oldText and newText must be well-formed Unicode.", "not_unicode")
    }
    for (let attempts = 0; ; attempts += 1) {
      const edited = await this.#attempt(path, edit)
      if (edited !== null) return edited
      if (attempts >= attemptsMax) throw changed(edit.expectedSha256)
    }
  }

  /** Null when the file changed between the read and the rename; then it must be read again. */
  async #attempt(path: string, edit: Edit): Promise<Edited | null> {
    const { file, stat, place } = this.#workspace.open(path, "file")
    try {
      if (stat.size > contentMaxBytes) throw tooLarge()
      const bytes = await readWhole(file, stat)
      const actualSha256 = sha256(bytes)
      if (actualSha256 !== edit.expectedSha256) throw changed(actualSha256)
      if (!isUtf8(bytes))
        throw invalid("The file is not UTF-8 text, so it cannot be edited. Write it whole instead.", "not_utf8")
      const { edited, replacements } = await replace(bytes, edit)
      using staged = this.#staging.create()
      await writeAll(staged.descriptor, [edited])
      const done = await commit(staged, place, () => unchanged(place, file, stat, bytes))
      return done ? { sizeBytes: edited.byteLength, sha256: sha256(edited), replacements } : null
    } catch (cause) {
      throw refusalFor(cause)
    } finally {
      file[Symbol.dispose]()
      place[Symbol.dispose]()
    }
  }
}

const unchanged = (place: Place, file: Held, seen: fs.BigIntStats, bytes: Buffer): boolean => {
  const now = place.lstat()
  if (now === null || now.dev !== seen.dev || now.ino !== seen.ino) return false
  if (versionOf(now) === versionOf(seen) && settled(seen)) return true
  // Touched, or the ctime is too recent to prove it: compare the content.
  return readNow(file, bytes.byteLength).equals(bytes)
}

const invalid = (message: string, reason: string) => new FileRefusal("INVALID_REQUEST", message, { reason })

const tooLarge = () =>
  new FileRefusal("PAYLOAD_TOO_LARGE", `Only files of at most ${contentMaxBytes} bytes can be edited.`, {
    limitBytes: contentMaxBytes
  })

const changed = (actualSha256: string) =>
  new FileRefusal("PRECONDITION_FAILED", "The file is not the one you saw. Read it again and edit that.", {
    actualSha256
  })

/** Other calls run after this many occurrences. */
const occurrencesInARow = 16_384

/** Works on bytes: UTF-8 text occurs in UTF-8 text exactly where its bytes do. Memory is that of the result, for any number of occurrences. */
const replace = async (
  bytes: Buffer,
  edit: Edit
): Promise<{ readonly edited: Buffer; readonly replacements: number }> => {
  const before = Buffer.from(edit.oldText, "utf8")
  const after = Buffer.from(edit.newText, "utf8")
  let occurrences = 0
  for (let at = bytes.indexOf(before); at !== -1; at = bytes.indexOf(before, at + before.byteLength)) {
    occurrences += 1
    if (occurrences % occurrencesInARow === 0) await turn()
  }
  if (occurrences === 0) throw new FileRefusal("TEXT_NOT_FOUND", "oldText does not occur in the file.", { occurrences })
  if (occurrences > 1 && !edit.replaceAll) {
    throw new FileRefusal("TEXT_AMBIGUOUS", "oldText occurs more than once. Make it longer, or set replaceAll.", {
      occurrences
    })
  }
  const editedBytes = bytes.byteLength + occurrences * (after.byteLength - before.byteLength)
  if (editedBytes > contentMaxBytes) throw tooLarge()
  const edited = Buffer.allocUnsafe(editedBytes)
  let from = 0
  let to = 0
  for (let done = 1; done <= occurrences; done += 1) {
    const found = bytes.indexOf(before, from)
    to += bytes.copy(edited, to, from, found)
    to += after.copy(edited, to)
    from = found + before.byteLength
    if (done % occurrencesInARow === 0) await turn()
  }
  bytes.copy(edited, to, from)
  return { edited, replacements: occurrences }
}

/** Reads the file up to the size it had; its ctime later shows growth and truncation. */
const readWhole = async (file: Held, stat: fs.BigIntStats): Promise<Buffer> => {
  const bytes = Buffer.allocUnsafe(Number(stat.size))
  let length = 0
  while (length < bytes.byteLength) {
    const read = await readAt(file.descriptor, bytes, length)
    if (read === 0) break
    length += read
  }
  return bytes.subarray(0, length)
}

const readAt = (descriptor: number, bytes: Buffer, at: number): Promise<number> =>
  new Promise((resolve, reject) =>
    fs.read(descriptor, bytes, at, bytes.byteLength - at, at, (cause, read) =>
      cause === null ? resolve(read) : reject(cause)
    )
  )

const readNow = (file: Held, expectedBytes: number): Buffer => {
  const bytes = Buffer.allocUnsafe(expectedBytes + 1)
  let length = 0
  for (;;) {
    const read = fs.readSync(file.descriptor, bytes, length, bytes.byteLength - length, length)
    if (read === 0 || length + read === bytes.byteLength) return bytes.subarray(0, length + read)
    length += read
  }
}
