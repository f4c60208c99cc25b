/** The entries of a merged tree in the order of an archive: a folder before what is in it, a file before its other names. */
import type { ImageFile, ImageFolder, ImageLink } from "./ImageTree.ts"
import { invalidLayer } from "./imageRefusals.ts"

export type Entry = { readonly name: string; readonly mode: number; readonly mtime: number } & (
  | { readonly is: "folder" }
  | { readonly is: "file"; readonly offset: number; readonly size: number }
  | { readonly is: "symlink"; readonly target: string }
  /** Another name of the file `target`. */
  | { readonly is: "again"; readonly target: string }
)

const PATH_MAX_BYTES = 4_095

export function* entriesOf(root: ImageFolder): Generator<Entry, void, undefined> {
  const named = new Map<ImageFile | ImageLink, string>()
  const open = [{ prefix: "", children: root.children.entries() }]
  for (let at = open.at(-1); at !== undefined; at = open.at(-1)) {
    const next = at.children.next()
    if (next.done === true) {
      open.pop()
      continue
    }
    const [part, { node }] = next.value
    const name = `${at.prefix}${part}`
    if (name.length > PATH_MAX_BYTES) throw invalidLayer()
    const { mode, mtime } = node
    if (node.is === "folder") {
      yield { is: "folder", name, mode, mtime }
      open.push({ prefix: `${name}/`, children: node.children.entries() })
      continue
    }
    const first = named.get(node)
    if (first !== undefined) yield { is: "again", name, mode, mtime, target: first }
    else {
      named.set(node, name)
      if (node.is === "file") yield { is: "file", name, mode, mtime, offset: node.offset, size: node.size }
      else yield { is: "symlink", name, mode, mtime, target: node.target }
    }
  }
}

/** Bytes of all files, each once. */
export const sizeOf = (root: ImageFolder): number => {
  let bytes = 0
  for (const entry of entriesOf(root)) if (entry.is === "file") bytes += entry.size
  return bytes
}
