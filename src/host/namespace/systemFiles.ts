/**
 * The `/etc` of a Sandbox: generated, with the public configuration of the host's programs, so that it does not show how this host is configured.
 * There is one for Sandboxes with network and one for those without.
 */
import { existsSync, lstatSync, readFileSync, readlinkSync, statSync } from "node:fs"
import { mkdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { NAMESERVER } from "../linux/networkNamespace.ts"
import type { PublicConfiguration } from "./publicConfiguration.ts"

export const SANDBOX_USER = "sandbox"
export const SANDBOX_UID = 1_000
export const SANDBOX_HOSTNAME = "sandbox"

/** Public parts of the host's /etc that no package ships in this form: certificates, the linker's cache. Binds show them live. */
const SHARED = [
  "/etc/ca-certificates",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/pki/ca-trust",
  "/etc/pki/tls/certs",
  "/etc/protocols",
  "/etc/services",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/terminfo"
]

/** Top-level folders of programs and libraries; symbolic links on a merged /usr. */
const SYSTEM = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]

/** Writes in place where possible, because running Sandboxes have this folder as their /etc. */
const putFile = async (path: string, bytes: Buffer): Promise<void> => {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() && readFileSync(path).equals(bytes)) return
  await writeFile(`${path}.new`, bytes, { mode: 0o644 })
  await rename(`${path}.new`, path)
}

const putLink = async (path: string, target: string): Promise<void> => {
  if ((await readlink(path).catch(() => null)) === target) return
  await rm(`${path}.new`, { force: true })
  await symlink(target, `${path}.new`)
  await rename(`${path}.new`, path)
}

const within = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** Writes the /etc of Sandboxes to a folder, or updates an existing one. */
export const writeSystemFiles = async (
  folder: string,
  networkEnabled: boolean,
  shared: PublicConfiguration
): Promise<void> => {
  const texts: Readonly<Record<string, string>> = {
    passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\n${SANDBOX_USER}:x:${SANDBOX_UID}:${SANDBOX_UID}::/workspace:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
    group: `root:x:0:\n${SANDBOX_USER}:x:${SANDBOX_UID}:\nnogroup:x:65534:\n`,
    hostname: `${SANDBOX_HOSTNAME}\n`,
    hosts: `127.0.0.1 localhost ${SANDBOX_HOSTNAME}\n::1 localhost ${SANDBOX_HOSTNAME}\n`,
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    "resolv.conf": networkEnabled ? `nameserver ${NAMESERVER}\n` : "",
    "host.conf": "multi on\n"
  }
  const own = new Map(Object.entries(texts).map(([name, text]) => [`/etc/${name}`, Buffer.from(text)]))
  const mounted = (path: string) => SHARED.some((it) => within(path, it))
  const placed = (path: string) => join(folder, path.slice("/etc/".length))
  const folders = new Set<string>()
  const inFolder = async (path: string) => {
    const parent = dirname(path)
    if (!folders.has(parent)) await mkdir(parent, { recursive: true, mode: 0o755 })
    folders.add(parent)
    return path
  }
  for (const [path, target] of shared.links) {
    if (!own.has(path) && !mounted(path)) await putLink(await inFolder(placed(path)), target)
  }
  for (const [path, bytes] of [...shared.files, ...own]) {
    if ((bytes === own.get(path) || !own.has(path)) && !mounted(path))
      await putFile(await inFolder(placed(path)), bytes)
  }
  // A bind into a read-only folder needs an existing mount point.
  for (const path of SHARED.filter(existsSync)) {
    const place = await inFolder(placed(path))
    if (statSync(path).isDirectory()) await mkdir(place, { recursive: true, mode: 0o755 })
    else if (!existsSync(place)) await writeFile(place, "", { mode: 0o644 })
  }
}

/** The binds and links of the host's programs and libraries. */
export const programArguments = (): ReadonlyArray<string> => [
  ...["--ro-bind", "/usr", "/usr"],
  ...SYSTEM.filter(existsSync).flatMap((path) =>
    lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path]
  )
]

/** The binds and links of the Sandbox's read-only system. */
export const systemArguments = (etc: string): ReadonlyArray<string> => [
  ...programArguments(),
  ...["--ro-bind", etc, "/etc"],
  ...SHARED.filter(existsSync).flatMap((path) => ["--ro-bind", path, path])
]
