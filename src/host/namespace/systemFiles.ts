/** The `/etc` of a Sandbox: synthetic, so that nothing of the host's own configuration shows. One for all Sandboxes with network, one for those without. */
import { existsSync, lstatSync, readlinkSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { NAMESERVER } from "./network.ts"

export const SANDBOX_USER = "sandbox"
export const SANDBOX_UID = 1_000
export const SANDBOX_HOSTNAME = "sandbox"

/** Public parts of the host's /etc that programs in /usr need: certificates, the linker's cache, Debian's alternatives. */
const SHARED = [
  "/etc/alternatives",
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

/** Top-level folders that hold programs and libraries; symbolic links on a merged /usr. */
const SYSTEM = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]

export const writeSystemFiles = async (folder: string, networkEnabled: boolean): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o755 })
  const files: Readonly<Record<string, string>> = {
    passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\n${SANDBOX_USER}:x:${SANDBOX_UID}:${SANDBOX_UID}::/workspace:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
    group: `root:x:0:\n${SANDBOX_USER}:x:${SANDBOX_UID}:\nnogroup:x:65534:\n`,
    hostname: `${SANDBOX_HOSTNAME}\n`,
    hosts: `127.0.0.1 localhost ${SANDBOX_HOSTNAME}\n::1 localhost ${SANDBOX_HOSTNAME}\n`,
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
    "resolv.conf": networkEnabled ? `nameserver ${NAMESERVER}\n` : "",
    "host.conf": "multi on\n"
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o644 })
}

/** The binds and links that make the Sandbox's read-only system. */
export const systemArguments = (etc: string): ReadonlyArray<string> => [
  ...["--ro-bind", "/usr", "/usr"],
  ...SYSTEM.filter(existsSync).flatMap((path) =>
    lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path]
  ),
  ...["passwd", "group", "hostname", "hosts", "nsswitch.conf", "resolv.conf", "host.conf"].flatMap((name) => [
    "--ro-bind",
    join(etc, name),
    `/etc/${name}`
  ]),
  ...SHARED.filter(existsSync).flatMap((path) => ["--ro-bind", path, path])
]
