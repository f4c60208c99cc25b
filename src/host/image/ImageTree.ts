/**
 * The files of an image, merged from its layers in memory. A later layer replaces, adds and removes names of the earlier ones, and nothing of it ever
 * becomes a name on the host: names lead only from this tree's root, and contents are ranges of one spool file.
 *
 * Names are bytes: one character for each byte.
 *
 * @source OCI Image Format Specification 1.1, "Image Layer Filesystem Changeset"
 */
import { invalidLayer, tooMany } from "./imageRefusals.ts"

interface Attributes {
  readonly mode: number
  /** Whole seconds since the epoch. */
  readonly mtime: number
}

/** Two names may have the same file. */
export interface ImageFile extends Attributes {
  readonly is: "file"
  /** Its place in the spool. */
  readonly offset: number
  readonly size: number
}

export interface ImageLink extends Attributes {
  readonly is: "symlink"
  readonly target: string
}

export interface ImageFolder {
  readonly is: "folder"
  mode: number
  mtime: number
  readonly children: Map<string, Named>
}

export type ImageNode = ImageFile | ImageLink | ImageFolder

interface Named {
  node: ImageNode
  /** The last layer that named this, or a name below it. */
  layer: number
}

const NAME_MAX_BYTES = 255
const PATH_MAX_BYTES = 4_095
const DEPTH_MAX = 256
const HOPS_MAX = 40
/** Of all walks together: a few links that lead through each other would otherwise cost hours. */
const STEPS_MAX = 100_000_000
const WHITEOUT = ".wh."
const OPAQUE = ".wh..wh..opq"

export const folder = (mode = 0o755, mtime = 0): ImageFolder => ({ is: "folder", mode, mtime, children: new Map() })

/** The parts of a name in a layer, or of the target of a hard link. A slash before it stands for the image's root. Throws a RuntimeRefused. */
export const partsOf = (name: string): ReadonlyArray<string> => {
  const parts = name.split("/").filter((it) => it !== "" && it !== ".")
  const isWrong =
    name.length > PATH_MAX_BYTES ||
    parts.length > DEPTH_MAX ||
    parts.some((it) => it === ".." || it.length > NAME_MAX_BYTES || it.includes("\0"))
  if (isWrong) throw invalidLayer()
  return parts
}

export interface TreeBounds {
  readonly entries: number
  /** Of all names and targets together. */
  readonly nameBytes: number
}

export class ImageTree {
  readonly root = folder()
  readonly #bounds: TreeBounds
  #layer = 0
  #entries = 0
  #nameBytes = 0
  #steps = 0

  constructor(bounds: TreeBounds) {
    this.#bounds = bounds
  }

  get entries(): number {
    return this.#entries
  }

  nextLayer(): void {
    this.#layer += 1
  }

  /** Counts an entry of a layer, also one that is dropped. Throws a RuntimeRefused. */
  count(name: string, target: string): void {
    this.#entries += 1
    this.#nameBytes += name.length + target.length
    if (this.#entries > this.#bounds.entries || this.#nameBytes > this.#bounds.nameBytes) {
      throw tooMany("entries", this.#bounds.entries)
    }
  }

  /** Whether the name only removes others; then it has been done. */
  removes(name: string): boolean {
    const parts = partsOf(name)
    const last = parts.at(-1) ?? ""
    if (!last.startsWith(WHITEOUT)) return false
    const found = this.#follow(parts.slice(0, -1))
    if (found?.is !== "folder") return true
    if (last === OPAQUE) this.#prune(found)
    // Others of this form are notes of a union file system.
    else if (!last.startsWith(`${WHITEOUT}${WHITEOUT}`)) this.#remove(found, last.slice(WHITEOUT.length))
    return true
  }

  put(name: string, node: ImageNode): void {
    const parts = partsOf(name)
    const last = parts.at(-1)
    if (last === undefined) {
      if (node.is !== "folder") throw invalidLayer()
      this.root.mode = node.mode
      this.root.mtime = node.mtime
      return
    }
    const parent = this.#made(parts.slice(0, -1))
    const before = parent.children.get(last)
    if (node.is === "folder" && before?.node.is === "folder") {
      before.node.mode = node.mode
      before.node.mtime = node.mtime
      before.layer = this.#layer
    } else parent.children.set(last, { node, layer: this.#layer })
  }

  /** The file or symbolic link with this name. Throws a RuntimeRefused. */
  linked(target: string): ImageFile | ImageLink {
    const parts = partsOf(target)
    const parent = this.#follow(parts.slice(0, -1))
    const found = parent?.is === "folder" ? parent.children.get(parts.at(-1) ?? "")?.node : undefined
    if (found === undefined || found.is === "folder") throw invalidLayer()
    return found
  }

  /** A folder with this name, in the place of anything else. */
  ensureFolder(name: string): ImageFolder {
    return this.#plain(partsOf(name))
  }

  /** Puts it into folders that are no links, in the place of anything else. */
  place(name: string, node: ImageNode): void {
    const parts = partsOf(name)
    this.#plain(parts.slice(0, -1)).children.set(parts.at(-1)!, { node, layer: this.#layer })
  }

  /** What is at this name, behind symbolic links; null: nothing. */
  find(name: string): ImageNode | null {
    return this.#follow(partsOf(name))
  }

  #plain(parts: ReadonlyArray<string>): ImageFolder {
    let at = this.root
    for (const part of parts) {
      const found = at.children.get(part)?.node
      const next = found?.is === "folder" ? found : folder()
      if (next !== found) at.children.set(part, { node: next, layer: this.#layer })
      at = next
    }
    return at
  }

  /** The folder at these parts, behind symbolic links. Missing ones are made. */
  #made(parts: ReadonlyArray<string>): ImageFolder {
    const found = this.#walk(parts, true)
    if (found?.is !== "folder") throw invalidLayer()
    return found
  }

  #follow(parts: ReadonlyArray<string>): ImageNode | null {
    return this.#walk(parts, false)
  }

  /** Goes from the root, which no link leaves. */
  #walk(parts: ReadonlyArray<string>, make: boolean): ImageNode | null {
    const todo = [...parts].reverse()
    let path: Array<ImageFolder> = [this.root]
    let hops = 0
    while (todo.length > 0) {
      const part = todo.pop()!
      const at = path.at(-1)!
      this.#steps += 1
      if (this.#steps > STEPS_MAX) throw invalidLayer()
      if (part === "" || part === ".") continue
      if (part === "..") {
        if (path.length > 1) path.pop()
        continue
      }
      let found = at.children.get(part)
      if (found === undefined) {
        if (!make) return null
        if (path.length > DEPTH_MAX) throw invalidLayer()
        found = { node: folder(), layer: this.#layer }
        at.children.set(part, found)
      }
      if (make) found.layer = this.#layer
      const { node } = found
      if (node.is === "folder") path.push(node)
      else if (node.is === "file") return todo.length === 0 ? node : null
      else {
        hops += 1
        if (hops > HOPS_MAX) return null
        if (node.target.startsWith("/")) path = [this.root]
        todo.push(...node.target.split("/").reverse())
      }
    }
    return path.at(-1)!
  }

  /** Removes what earlier layers have below this folder. */
  #prune(at: ImageFolder): void {
    for (const name of [...at.children.keys()]) this.#remove(at, name)
  }

  /** Removes this name of earlier layers; what the present layer has there stays. */
  #remove(at: ImageFolder, name: string): void {
    const found = at.children.get(name)
    if (found === undefined) return
    if (found.layer !== this.#layer) at.children.delete(name)
    else if (found.node.is === "folder") this.#prune(found.node)
  }
}
