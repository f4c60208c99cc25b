/**
 * The directory into which an archive is unpacked, and the paths below it. Every component is opened without following a link, so no entry leads
 * outside, even through links that the archive made before or that a command swaps meanwhile.
 */
import fs from "node:fs"
import { errnoOf } from "../FileRefusal.ts"
import { at, Held, held, O_PATH, stagingName, type Workspace } from "../Workspace.ts"
import { ArchiveFault, inTheWay } from "./ArchiveFault.ts"

const { O_DIRECTORY, O_NOFOLLOW } = fs.constants

const unsafe = (message: string) => new ArchiveFault("unsafe_name", message)

/** The components of an entry's name; none for the directory itself. Throws an ArchiveFault for a name that would lead outside. */
export const componentsOf = (name: string): ReadonlyArray<string> => {
  if (name.startsWith("/")) throw unsafe("A name is absolute. Make the archive of relative names.")
  const components = name.split("/").filter((component) => component !== "" && component !== ".")
  if (components.includes("..")) throw unsafe("A name has a .. in it.")
  if (components.some((component) => component.length > 255)) {
    throw new ArchiveFault("name_too_long", "A name is longer than 255 bytes.")
  }
  return components
}

export class Destination implements Disposable {
  readonly #workspace: Workspace
  readonly #base: Held
  readonly #isRoot: boolean
  /** The directory of the last entry: entries of one directory mostly follow each other. */
  #last: { readonly key: string; readonly held: Held } | null = null

  /** Takes ownership of `base`, a directory in the workspace. */
  constructor(workspace: Workspace, base: Held) {
    this.#workspace = workspace
    this.#base = base
    this.#isRoot = workspace.isRoot(base.descriptor)
  }

  /** The path of an entry, valid until the next call. Makes missing directories on the way. */
  place(components: ReadonlyArray<string>): Buffer {
    return this.#place(components, true)
  }

  /** The path of an entry whose directories must already exist. */
  placeOfExisting(components: ReadonlyArray<string>): Buffer {
    return this.#place(components, false)
  }

  /** Makes a directory, or finds the existing one, and gives its owner full access. */
  directory(components: ReadonlyArray<string>): void {
    const descriptor = this.#enter(components, true)
    const mode = fs.fstatSync(descriptor).mode & 0o777
    if ((mode & 0o700) !== 0o700) fs.chmodSync(held(descriptor), mode | 0o700)
  }

  /** The descriptor of an existing directory, valid until the next call. */
  existing(components: ReadonlyArray<string>): number {
    return this.#enter(components, false)
  }

  [Symbol.dispose](): void {
    this.#last?.held[Symbol.dispose]()
    this.#last = null
    this.#base[Symbol.dispose]()
  }

  #place(components: ReadonlyArray<string>, makes: boolean): Buffer {
    this.#refuseReserved(components)
    return at(this.#enter(components.slice(0, -1), makes), components.at(-1)!)
  }

  #refuseReserved(components: ReadonlyArray<string>): void {
    if (this.#isRoot && components[0] === stagingName) {
      throw unsafe(`/workspace/${stagingName} is reserved for files that are being written.`)
    }
  }

  /** The descriptor of a directory; this object owns it. */
  #enter(components: ReadonlyArray<string>, makes: boolean): number {
    if (components.length === 0) return this.#base.descriptor
    this.#refuseReserved(components)
    const key = components.join("/")
    if (this.#last?.key === key) return this.#last.held.descriptor
    let here: Held | null = null
    try {
      for (const component of components) {
        const above: number = here?.descriptor ?? this.#base.descriptor
        const next = this.#step(above, component, makes)
        here?.[Symbol.dispose]()
        here = next
      }
      this.#workspace.sameMount(here!.descriptor)
    } catch (cause) {
      here?.[Symbol.dispose]()
      throw cause
    }
    this.#last?.held[Symbol.dispose]()
    this.#last = { key, held: here! }
    return here!.descriptor
  }

  #step(above: number, component: string, makes: boolean): Held {
    const path = at(above, component)
    for (;;) {
      try {
        return new Held(fs.openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW))
      } catch (cause) {
        const errno = errnoOf(cause)
        if (errno === "ENOTDIR" || errno === "ELOOP") throw this.#blocked(path)
        if (errno !== "ENOENT" || !makes) throw cause
      }
      try {
        this.#workspace.makeDirectory(path)
      } catch (cause) {
        // A command made it meanwhile: open it again.
        if (errnoOf(cause) !== "EEXIST") throw cause
      }
    }
  }

  #blocked(path: Buffer): ArchiveFault {
    return fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
      ? new ArchiveFault(
          "in_the_way",
          "A symbolic link is there where the archive has a directory, and is not followed."
        )
      : inTheWay()
  }
}
