/**
 * The content of /workspace as a map, and the answer that each call must give: the contract's words and POSIX, without
 * a file system.
 */
export type Code = string

type Node = { readonly type: "directory" } | { readonly type: "file"; content: string }

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/"))

export class FileModel {
  readonly #nodes: Map<string, Node>
  readonly #root: string

  /** `root` exists from the start. */
  constructor(root: string) {
    this.#root = root
    this.#nodes = new Map([[root, { type: "directory" }]])
  }

  /** Another one with the same files; a change of one is none of the other. */
  copy(): FileModel {
    const copy = new FileModel(this.#root)
    for (const [path, node] of this.#nodes) copy.#nodes.set(path, { ...node })
    return copy
  }

  /** Everything below the root: `path/` or `path: content`. */
  tree(): ReadonlyArray<string> {
    return [...this.#nodes]
      .filter(([path]) => path !== this.#root)
      .map(([path, node]) => path.slice(this.#root.length + 1) + (node.type === "file" ? `: ${node.content}` : "/"))
      .toSorted()
  }

  stat(path: string): Code {
    return this.#way(path) ?? (this.#nodes.has(path) ? this.#nodes.get(path)!.type : "NOT_FOUND")
  }

  read(path: string): Code {
    const way = this.#way(path)
    if (way !== null) return way
    const node = this.#nodes.get(path)
    if (node === undefined) return "NOT_FOUND"
    return node.type === "directory" ? "IS_A_DIRECTORY" : node.content
  }

  write(path: string, content: string): Code {
    const way = this.#way(path)
    if (way !== null) return way
    if (this.#nodes.get(path)?.type === "directory") return "IS_A_DIRECTORY"
    this.#nodes.set(path, { type: "file", content })
    return "ok"
  }

  edit(path: string, oldText: string, newText: string, replaceAll: boolean): Code {
    const content = this.read(path)
    const node = this.#nodes.get(path)
    if (node?.type !== "file") return content
    const occurrences = content.split(oldText).length - 1
    if (occurrences === 0) return "TEXT_NOT_FOUND"
    if (occurrences > 1 && !replaceAll) return "TEXT_AMBIGUOUS"
    node.content = content.split(oldText).join(newText)
    return "ok"
  }

  list(path: string): Code {
    const way = this.#way(path)
    if (way !== null) return way
    const node = this.#nodes.get(path)
    if (node === undefined) return "NOT_FOUND"
    return node.type === "file" ? "NOT_A_DIRECTORY" : this.#children(path).join()
  }

  makeDirectory(path: string, recursive: boolean): Code {
    if (recursive && path !== this.#root) {
      const above = this.makeDirectory(parentOf(path), true)
      if (above !== "ok") return above === "ALREADY_EXISTS" ? "NOT_A_DIRECTORY" : above
    }
    const way = this.#way(path)
    if (way !== null) return way
    const node = this.#nodes.get(path)
    if (node !== undefined) return recursive && node.type === "directory" ? "ok" : "ALREADY_EXISTS"
    this.#nodes.set(path, { type: "directory" })
    return "ok"
  }

  remove(path: string, recursive: boolean): Code {
    const way = this.#way(path)
    if (way !== null) return way
    if (!this.#nodes.has(path)) return "NOT_FOUND"
    const below = this.#below(path)
    if (below.length > 0 && !recursive) return "DIRECTORY_NOT_EMPTY"
    for (const gone of [path, ...below]) this.#nodes.delete(gone)
    return "ok"
  }

  rename(from: string, to: string, overwrite: boolean): Code {
    const way = this.#way(from) ?? this.#way(to)
    if (way !== null) return way
    const source = this.#nodes.get(from)
    const target = this.#nodes.get(to)
    if (source === undefined) return "NOT_FOUND"
    if (source.type === "directory" && to.startsWith(`${from}/`) && (overwrite || target === undefined))
      return "INVALID_PATH"
    if (from === to && overwrite) return "ok"
    if (target !== undefined && !overwrite) return "DESTINATION_EXISTS"
    if (target?.type === "directory" && this.#below(to).length > 0) return "DIRECTORY_NOT_EMPTY"
    if (target?.type === "directory" && source.type === "file") return "IS_A_DIRECTORY"
    if (target?.type === "file" && source.type === "directory") return "NOT_A_DIRECTORY"
    const moved = [from, ...this.#below(from)].map((path) => [path, this.#nodes.get(path)!] as const)
    for (const [path] of moved) this.#nodes.delete(path)
    for (const [path, node] of moved) this.#nodes.set(to + path.slice(from.length), node)
    return "ok"
  }

  /** Why a path cannot be reached; null when its parent is a directory. */
  #way(path: string): Code | null {
    const above: Array<string> = []
    for (let parent = parentOf(path); parent.length >= this.#root.length; parent = parentOf(parent))
      above.unshift(parent)
    for (const parent of above) {
      const node = this.#nodes.get(parent)
      if (node === undefined) return "NOT_FOUND"
      if (node.type === "file") return "NOT_A_DIRECTORY"
    }
    return null
  }

  #below(path: string): ReadonlyArray<string> {
    return [...this.#nodes.keys()].filter((other) => other.startsWith(`${path}/`))
  }

  #children(path: string): ReadonlyArray<string> {
    return this.#below(path)
      .map((other) => other.slice(path.length + 1))
      .filter((rest) => !rest.includes("/"))
      .toSorted()
  }
}
