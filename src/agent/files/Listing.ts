/**
 * One membership of one directory: its names, read in slices so that other calls get their turn.
 *
 * A directory that was not touched while it was read, and whose ctime was settled before, held exactly these names at that ctime.
 */

import fs from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { kernelRandom } from "../kernelRandom.ts"
import { FileRefusal } from "./FileRefusal.ts"
import { listingMaxBytes, listingMaxEntries } from "./limits.ts"
import { NameList } from "./NameList.ts"
import { settled } from "./version.ts"
import { Held, held, O_PATH, stagingName } from "./Workspace.ts"

/** Names read before other calls get their turn: under a millisecond. */
const sliceEntries = 1024

/** Identity of a directory; all are on one mount. A file system gives a removed directory's inode to the next one: the birth time tells them apart. */
export const directoryKey = (stat: fs.BigIntStats): string =>
  `${stat.ino.toString(36)}.${stat.birthtimeNs.toString(36)}`
export const ctimeText = (stat: fs.BigIntStats): string => stat.ctimeNs.toString(36)

export class Listing {
  /** Told apart from every other listing, of this agent or an earlier one. */
  readonly id = kernelRandom(9).toString("base64url")
  readonly directory: string
  readonly names = new NameList()
  /** The directory's ctime with these names; empty when it was too young to vouch for them. */
  ctime: string
  /** `broken`: the directory was touched while it was read, or could not be read on. */
  state: "reading" | "complete" | "broken" = "reading"
  /** Ends with the reading, well or broken. */
  readonly done: Promise<void>
  #failure: { readonly cause: unknown } | null = null
  readonly #descriptor: Held
  readonly #dir: fs.Dir
  readonly #start: fs.BigIntStats
  readonly #hides: string | null

  /** Reads at least `ahead` names, if there are as many, before it returns, and goes on by itself. `stat` was taken just before. */
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

  /** Waits until at least `count` names are read, or all. Throws what stopped the reading. */
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
