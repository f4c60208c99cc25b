/**
 * Resolves a path inside /workspace, and never leaves it.
 *
 * Node has no `openat2`, so this module walks the path: it opens every component through `/proc/self/fd/<directory>/<name>` with `O_PATH |
 * O_DIRECTORY | O_NOFOLLOW`, so the kernel follows no link. It reads a symbolic link and walks its target the same way, over a stack of held
 * directories whose lowest is /workspace. `..` pops that stack, so it cannot climb out, even if entries are moved or swapped meanwhile. An absolute
 * target starts at `/`, where the only valid next name is `workspace`. At the end, the mount of the result must be that of /workspace.
 *
 * @source contract-details.md "Fine print": "Symlinks resolve as the Sandbox sees them, and may not leave /workspace"
 */
import fs from "node:fs"
import { errnoOf, FileRefusal, refusalFor, specialFile } from "./FileRefusal.ts"
import { nameBytes, nameText, parsePath } from "./names.ts"

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants
/** Not in node:fs: a descriptor that refers to a file without opening it, so a fifo or device is never touched. The same value on every Linux port of Node. */
export const O_PATH = 0o10000000

/** As Linux: 40 links in one resolution. */
const linksMax = 40
const modeOfDirectory = 0o755
/** A path of 4096 characters has at most 2048 components; links may add as many again. */
const componentsMax = 4096
/** How often a component is read again that is swapped between two system calls. */
const swapsMax = 64

/** The folder inside /workspace for files that are being written; see Staging.ts. No path may name it. */
export const stagingName = ".atoll-staging"

/** A path that needs name resolution only for its last component. */
export const at = (directory: number, name: string): Buffer =>
  Buffer.from(`/proc/self/fd/${directory}/${name}`, "latin1")

/** The file of a descriptor, independently of its name. */
export const held = (descriptor: number): string => `/proc/self/fd/${descriptor}`

/** Converts a system error into the contract's refusal, where there is one. */
export const refusing = <A>(act: () => A): A => {
  try {
    return act()
  } catch (cause) {
    throw refusalFor(cause)
  }
}

/** One held descriptor; closed once. */
export class Held implements Disposable {
  readonly descriptor: number
  #open = true
  constructor(descriptor: number) {
    this.descriptor = descriptor
  }
  [Symbol.dispose](): void {
    if (!this.#open) return
    this.#open = false
    fs.closeSync(this.descriptor)
  }
}

/**
 * The end of a path: a held directory and a name in it (which may not exist), or only a held directory (`name` null) when the path is /workspace or
 * ends through a link in `.` or `..`.
 */
export class Place implements Disposable {
  readonly directory: number
  readonly name: string | null
  readonly #held: Held
  constructor(held: Held, name: string | null) {
    this.directory = held.descriptor
    this.name = name
    this.#held = held
  }
  get path(): Buffer {
    return this.name === null ? Buffer.from(held(this.directory)) : at(this.directory, this.name)
  }
  /** Metadata of the entry itself, without following a link; null when it does not exist. */
  lstat(): fs.BigIntStats | null {
    try {
      return this.name === null
        ? fs.fstatSync(this.directory, { bigint: true })
        : fs.lstatSync(this.path, { bigint: true })
    } catch (cause) {
      if (errnoOf(cause) === "ENOENT") return null
      throw refusalFor(cause)
    }
  }
  [Symbol.dispose](): void {
    this.#held[Symbol.dispose]()
  }
}

const leaves = () =>
  new FileRefusal("INVALID_PATH", "A symbolic link in this path leaves /workspace.", { reason: "leaves_workspace" })

/** The id of the mount that a descriptor is on. */
const mountOf = (descriptor: number): string | undefined =>
  /^mnt_id:\s*(\d+)$/m.exec(fs.readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1"))?.[1]

/** In a virtual machine the agent runs as root; the files that it makes must belong to the Sandbox's user. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

export class Workspace implements Disposable {
  /** Open for the agent's whole life. */
  readonly root: number
  readonly #mount: string | undefined
  readonly #owner: Owner | null

  /** `directory` is /workspace as the agent sees it; tests use another. */
  constructor(directory: string, owner: Owner | null = null) {
    this.root = fs.openSync(directory, O_PATH | O_DIRECTORY)
    this.#mount = mountOf(this.root)
    this.#owner = owner
  }

  /** Gives a file or directory that the agent has just made to its owner. By descriptor, because its name may lead elsewhere by now. */
  own(descriptor: number): void {
    if (this.#owner !== null) fs.chownSync(held(descriptor), this.#owner.uid, this.#owner.gid)
  }

  /** The same for a symbolic link, by its name: only the agent can access its folder. */
  ownLink(path: Buffer): void {
    if (this.#owner !== null) fs.lchownSync(path, this.#owner.uid, this.#owner.gid)
  }

  /** Whether a directory is /workspace itself. */
  isRoot(descriptor: number): boolean {
    const root = fs.fstatSync(this.root, { bigint: true })
    const stat = fs.fstatSync(descriptor, { bigint: true })
    return stat.ino === root.ino && stat.dev === root.dev
  }

  /** Makes one directory. Throws EEXIST if the name is taken. */
  makeDirectory(path: Buffer): void {
    fs.mkdirSync(path, modeOfDirectory)
    if (this.#owner === null) return
    using made = new Held(fs.openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW))
    this.own(made.descriptor)
  }

  [Symbol.dispose](): void {
    fs.closeSync(this.root)
  }

  /**
   * `entry`: does not follow the last component (stat, rename, DELETE). `target`: follows it, and returns the place of the link's target (read,
   * write, edit, list); for a dangling link inside /workspace, the place where its target would be.
   */
  place(path: string, last: "entry" | "target"): Place {
    return refusing(() => this.#walk(parsePath(path), last))
  }

  /** Makes the directory of a path and its missing components (except missing components of a link's target). */
  makeDirectories(path: string): void {
    refusing(() => this.#walk(parsePath(path), "directory"))[Symbol.dispose]()
  }

  #walk(segments: ReadonlyArray<string>, last: "entry" | "target" | "directory"): Place {
    /** Descriptors from /workspace down; null means `/`, above it. */
    let way: Array<number> | null = [this.root]
    const ahead = segments.toReversed()
    let links = 0
    let components = 0
    /** Names at this index of `ahead` and above came from a link's target. */
    let linked = Number.POSITIVE_INFINITY
    const leave = () => {
      for (const descriptor of way ?? []) if (descriptor !== this.root) fs.closeSync(descriptor)
      way = null
    }
    try {
      for (;;) {
        const name = ahead.pop()
        if (name === undefined) {
          if (way === null) throw leaves()
          return this.#placeOf(way, null)
        }
        components += 1
        if (components > componentsMax)
          throw new FileRefusal("INVALID_PATH", "This path goes through too many names.", { reason: "too_many_links" })
        if (name === "" || name === ".") continue
        if (way === null) {
          if (name === "..") continue
          if (name !== "workspace") throw leaves()
          way = [this.root]
          continue
        }
        if (name === "..") {
          const left = way.pop()!
          if (left === this.root) way = null
          else fs.closeSync(left)
          continue
        }
        const here: number = way.at(-1)!
        if (name === stagingName && here === this.root) {
          throw new FileRefusal(
            "INVALID_PATH",
            `/workspace/${stagingName} is reserved for files that are being written.`,
            {
              reason: "reserved"
            }
          )
        }
        const final = ahead.length === 0
        if (final && last === "entry") return this.#placeOf(way, name)
        if (last === "directory" && ahead.length < linked) this.#makeMissing(here, name)
        const step = final && last === "target" ? linkTarget(here, name) : enter(here, name)
        if (step === null) return this.#placeOf(way, name)
        if (typeof step === "number") {
          way.push(step)
          continue
        }
        links += 1
        if (links > linksMax)
          throw new FileRefusal("INVALID_PATH", "This path goes through too many symbolic links.", {
            reason: "too_many_links"
          })
        if (step.startsWith("/")) leave()
        linked = Math.min(linked, ahead.length)
        // Not a spread: a target has up to 2048 components. Their number is checked during the walk.
        for (const part of step.split("/").reverse()) ahead.push(part)
      }
    } catch (cause) {
      leave()
      throw cause
    }
  }

  #makeMissing(directory: number, name: string): void {
    try {
      this.makeDirectory(at(directory, name))
    } catch (cause) {
      if (errnoOf(cause) !== "EEXIST") throw cause
    }
  }

  /** Returns the last directory of the way and closes the others. */
  #placeOf(way: Array<number>, name: string | null): Place {
    const directory = way.pop()!
    for (const descriptor of way) if (descriptor !== this.root) fs.closeSync(descriptor)
    way.length = 0
    // A place owns its descriptor, so /workspace's own is opened again.
    const owned = new Held(directory === this.root ? fs.openSync(held(this.root), O_PATH | O_DIRECTORY) : directory)
    try {
      this.sameMount(owned.descriptor)
      return new Place(owned, name)
    } catch (cause) {
      owned[Symbol.dispose]()
      throw cause
    }
  }

  /** Refuses an entry on another mount than /workspace (a bind mount or another file system below it). */
  sameMount(descriptor: number): void {
    if (mountOf(descriptor) !== this.#mount) {
      throw new FileRefusal("INVALID_PATH", "This path leaves /workspace through a mount.", { reason: "mount" })
    }
  }

  /**
   * Opens the target of a path, following links. It inspects the file before it opens it, and opens exactly the inspected file, so a fifo, socket or
   * device is refused untouched.
   */
  open(
    path: string,
    kind: "file" | "directory"
  ): { readonly file: Held; readonly stat: fs.BigIntStats; readonly place: Place } {
    for (let swaps = 0; ; swaps += 1) {
      const place = this.place(path, "target")
      try {
        using named = new Held(fs.openSync(place.path, O_PATH | (place.name === null ? 0 : O_NOFOLLOW)))
        const stat = fs.fstatSync(named.descriptor, { bigint: true })
        if (stat.isSymbolicLink()) {
          // It became a link after the walk: walk again.
          if (swaps >= swapsMax) throw new FileRefusal("NOT_FOUND", "This path keeps changing.")
          place[Symbol.dispose]()
          continue
        }
        this.sameMount(named.descriptor)
        if (kind === "directory" && !stat.isDirectory()) {
          throw new FileRefusal("NOT_A_DIRECTORY", "This path is not a directory.")
        }
        if (kind === "file" && stat.isDirectory()) throw new FileRefusal("IS_A_DIRECTORY", "This path is a directory.")
        if (kind === "file" && !stat.isFile()) throw specialFile()
        const file = new Held(fs.openSync(held(named.descriptor), O_RDONLY | O_NONBLOCK))
        return { file, stat, place }
      } catch (cause) {
        place[Symbol.dispose]()
        throw refusalFor(cause)
      }
    }
  }
}

/** A directory's descriptor, or the target of a symbolic link of that name. */
const enter = (directory: number, name: string): number | string => {
  const path = at(directory, name)
  for (let swaps = 0; ; swaps += 1) {
    try {
      return fs.openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW)
    } catch (cause) {
      if (errnoOf(cause) !== "ENOTDIR" || swaps >= swapsMax) throw cause
      const target = linkTarget(directory, name)
      if (target !== null) return target
      // Neither a directory nor a link when it was read: a file, unless it is being swapped.
      const now = fs.lstatSync(path)
      if (!now.isDirectory() && !now.isSymbolicLink()) throw cause
    }
  }
}

/** Null when the name is not a symbolic link, or does not exist. */
const linkTarget = (directory: number, name: string): string | null => {
  try {
    return fs.readlinkSync(at(directory, name), "latin1")
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === "EINVAL" || errno === "ENOENT") return null
    throw cause
  }
}

/** The last name of a path as the API shows it; `workspace` for /workspace. */
export const shownName = (path: string): string => nameText(nameBytes(path.slice(path.lastIndexOf("/") + 1)))
