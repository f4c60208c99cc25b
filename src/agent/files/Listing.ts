/**
 * The names in one directory at one time, read in slices so that other calls can run in between.
 *
 * If a directory was not touched while it was read, and its ctime was settled before, it held exactly these names at that ctime.
 */

import fs from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { kernelRandom } from "../kernelRandom.ts"
import { FileRefusal } from "./FileRefusal.ts"
import { listingMaxBytes, listingMaxEntries } from "./limits.ts"
import { NameList } from "./NameList.ts"
import { settled } from "./version.ts"
import { Held, held, O_PATH, stagingName } from "./Workspace.ts"

/** Names per slice: under a millisecond. */
const sliceEntries = 1024

/**
 * Identity of a directory. All directories are on one mount. A file system may give a removed directory's inode to the next one; the birth time
 * distinguishes them.
 */
export const directoryKey = (stat: fs.BigIntStats): string =>
  `${stat.ino.toString(36)}.${stat.birthtimeNs.toString(36)}`
export const ctimeText = (stat: fs.BigIntStats): string => stat.ctimeNs.toString(36)

export class Listing {
  /** Unique among all listings, of this agent and of earlier ones. */
  readonly id = kernelRandom(9).toString("base64url")
  readonly directory: string
  readonly names = new NameList()
  /** The directory's ctime with these names; empty when the ctime was too recent to prove them. */
  ctime: string
  /** `broken`: the directory was touched while it was read, or the reading failed. */
  state: "reading" | "complete" | "broken" = "reading"
  /** Settles when the reading has ended, complete or broken. */
  readonly done: Promise<void>
  #failure: { readonly cause: unknown } | null = null
  readonly #descriptor: Held
  readonly #dir: fs.Dir
  readonly #start: fs.BigIntStats
  readonly #hides: string | null

  /** Reads `ahead` names, or all if there are fewer, before it returns; the rest is read in the background. `stat` was taken immediately before. */
  constructor(directory: Held, stat: fs.BigIntStats, options: { readonly ahead: number; readonly isRoot: boolean }) {
    this.directory = directoryKey(stat)
    this.ctime = settled(stat) ? ctimeText(stat) : ""
    this.#start = stat
    this.#hides = options.isRoot ? stagingName : null
    this.#descriptor = new Held(fs.openSync(held(directory.descriptor), O_PATH | fs.constants.O_DIRECTORY))
    try {
      this.#dir = fs.opendirSync(held(directory.descriptor), { encoding: "latin1", bufferSize: sliceEntries })
    } catch (cause) {
      this.#descriptor[Symbol.dispose]()
      throw cause
    }
    this.#read(options.ahead)
    this.done = this.state === "reading" ? this.#readOn() : Promise.resolve()
  }

  get membership(): string {
    return this.state === "complete" ? this.names.prefix(this.names.length) : ""
  }

  /** Waits until `count` names, or all, are read. Throws the error that stopped the reading. */
  async atLeast(count: number): Promise<void> {
    if (this.state === "reading" && this.names.length < count) await this.done
    if (this.#failure !== null) throw this.#failure.cause
  }

  async #readOn(): Promise<void> {
    while (this.state === "reading") {
      await turn()
      this.#read(sliceEntries)
    }
  }

  #read(count: number): void {
    try {
      for (let read = 0; read < count; read += 1) {
        const entry = this.#dir.readSync()
        if (entry === null) {
          this.#end(this.#untouched() ? "complete" : "broken")
          return
        }
        if (entry.name === this.#hides) continue
        this.names.push(entry.name)
      }
      if (this.names.length > listingMaxEntries || this.names.heldBytes > listingMaxBytes) {
        throw tooMany()
      }
    } catch (cause) {
      this.#failure = { cause }
      this.#end("broken")
    }
  }

  #untouched(): boolean {
    return fs.fstatSync(this.#descriptor.descriptor, { bigint: true }).ctimeNs === this.#start.ctimeNs
  }

  #end(state: "complete" | "broken"): void {
    this.state = state
    this.#dir.closeSync()
    this.#descriptor[Symbol.dispose]()
  }
}

const tooMany = () =>
  new FileRefusal("PAYLOAD_TOO_LARGE", `A directory of more than ${listingMaxEntries} entries cannot be listed.`, {
    limitBytes: listingMaxBytes
  })
