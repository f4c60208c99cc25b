/**
 * Makes an image fit to be the root of a Sandbox. That root is read-only, so each folder and file over which something is mounted must exist in it; and
 * none may be a symbolic link, because a mount would follow it.
 */
import { folder, type ImageTree } from "./ImageTree.ts"
import { invalid } from "./imageRefusals.ts"
import type { Spool } from "./Spool.ts"

/** Covered by a mount in every Sandbox. What the image has there is dropped. */
const COVERED = ["dev", "proc", "run", "sys", "tmp", "workspace", ".atoll"]
/** Covered by files of the Sandbox. */
const COVERED_FILES = ["etc/hostname", "etc/hosts", "etc/resolv.conf"]
/** Larger files are no lists of users. */
const LIST_MAX_BYTES = 1024 ** 2

export interface SandboxUser {
  readonly name: string
  readonly uid: number
}

/** Adds the Sandbox's user, where no other has its number. */
const withLine = async (
  tree: ImageTree,
  spool: Spool,
  name: string,
  isKnown: (line: ReadonlyArray<string>) => boolean,
  line: string
): Promise<void> => {
  const found = tree.find(name)
  if (found !== null && (found.is !== "file" || found.size > LIST_MAX_BYTES)) throw invalid()
  await spool.flush()
  const before = found === null ? "" : (await spool.read(found.offset, found.size)).toString("latin1")
  if (before.split("\n").some((it) => isKnown(it.split(":")))) return
  const bytes = Buffer.from(`${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${line}\n`, "latin1")
  const offset = spool.length
  await spool.append(bytes)
  tree.place(name, { is: "file", mode: 0o644, mtime: found?.mtime ?? 0, offset, size: bytes.length })
}

export const placeForSandbox = async (tree: ImageTree, spool: Spool, { name, uid }: SandboxUser): Promise<void> => {
  for (const path of COVERED) tree.place(path, folder())
  const etc = tree.find("etc")
  if (etc !== null && etc !== tree.ensureFolder("etc")) throw invalid()
  const empty = { is: "file", mode: 0o644, mtime: 0, offset: 0, size: 0 } as const
  for (const path of COVERED_FILES) tree.place(path, empty)
  // As in every Sandbox.
  if (tree.find("var")?.is === "folder")
    tree.place("var/tmp", { is: "symlink", mode: 0o777, mtime: 0, target: "../tmp" })
  const shell = ["/bin/bash", "/bin/sh"].find((it) => tree.find(it)?.is === "file") ?? "/sbin/nologin"
  const isOwn = (fields: ReadonlyArray<string>) => fields[2] === String(uid)
  await withLine(tree, spool, "etc/passwd", isOwn, `${name}:x:${uid}:${uid}::/workspace:${shell}`)
  await withLine(tree, spool, "etc/group", isOwn, `${name}:x:${uid}:`)
  tree.root.mode = 0o755
}
