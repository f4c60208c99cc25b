/**
 * The public part of the host's /etc. Programs in /usr need their configuration, but a Sandbox must not see how this host is configured.
 *
 * Two rules instead of a list of programs. A file is public when it is byte for byte as its Debian package ships it (anyone can read it in the
 * archive). A symbolic link is public when it leads to a program, a library, or a public file (Debian's alternatives, fontconfig's conf.d). Not
 * public are files that the operator changed, files generated on this host, and files that other users may not read.
 *
 * @source deb-conffiles(5); dpkg's status file keeps the MD5 of every configuration file as it was shipped
 */
import { createHash } from "node:crypto"
import { constants, type Dirent } from "node:fs"
import { open, readdir, readFile, readlink } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"

export interface PublicConfiguration {
  /** Content by absolute path. */
  readonly files: ReadonlyMap<string, Buffer>
  /** The link's target as written, by absolute path. */
  readonly links: ReadonlyMap<string, string>
}

/** Configuration files are text; a larger file is not one. */
const FILE_MAX_BYTES = 1_048_576
/** /etc has a few thousand names. On a host with many more, only the first are considered. */
const NAMES_MAX = 50_000

/** What starts on this host, and when: no program in /usr reads it, and it is the operator's choice. */
const isOfTheHost = (path: string): boolean => /^\/etc\/(rc[0-9S]\.d|init\.d|systemd|cron[^/]*)(\/|$)/.test(path)

/** Path and MD5 of every configuration file of the installed packages. Empty where there is no dpkg. */
const shipped = async (root: string): Promise<ReadonlyMap<string, string>> => {
  const status = await readFile(join(root, "var/lib/dpkg/status"), "utf8").catch(() => "")
  return new Map(
    [...status.matchAll(/^ (\/etc\/\S+) ([0-9a-f]{32})$/gm)]
      .map(([, path, digest]) => [path!, digest!] as const)
      .filter(([path]) => resolve(path) === path && !isOfTheHost(path))
  )
}

/** Some links, such as Debian's alternatives of `nc`, use the top-level names that lead into /usr. @see systemFiles.ts */
const inPrograms = /^\/(usr|bin|sbin|lib|lib32|lib64|libx32)\//

const asShipped = async (path: string, digest: string): Promise<Buffer | null> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null) return null
  try {
    const { mode, size } = await file.stat()
    const isOpen = (mode & constants.S_IFMT) === constants.S_IFREG && (mode & 0o004) !== 0 && size <= FILE_MAX_BYTES
    if (!isOpen) return null
    const bytes = await file.readFile()
    return createHash("md5").update(bytes).digest("hex") === digest ? bytes : null
  } finally {
    await file.close()
  }
}

const linksBelow = async (root: string): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>()
  const folders = ["/etc"]
  let names = 0
  for (let folder = folders.pop(); folder !== undefined && names < NAMES_MAX; folder = folders.pop()) {
    const entries: ReadonlyArray<Dirent> = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
    names += entries.length
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (isOfTheHost(path)) continue
      if (entry.isDirectory()) folders.push(path)
      else if (entry.isSymbolicLink()) {
        const target = await readlink(join(root, path)).catch(() => null)
        if (target !== null) found.set(path, target)
      }
    }
  }
  return found
}

/** @param root The host's root folder. */
export const publicConfiguration = async (root = "/"): Promise<PublicConfiguration> => {
  const files = new Map<string, Buffer>()
  for (const [path, digest] of await shipped(root)) {
    const bytes = await asShipped(join(root, path), digest)
    if (bytes !== null) files.set(path, bytes)
  }
  const isPublic = (target: string) => inPrograms.test(target) || files.has(target)
  const links = new Map(
    [...(await linksBelow(root))].filter(([path, target]) => isPublic(resolve(dirname(path), target)))
  )
  return { files, links }
}
