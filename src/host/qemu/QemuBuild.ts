/** The QEMU of this host: its version and features. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"

const execute = promisify(execFile)

/** Debian packages of a running VM. On bookworm QEMU comes from backports; see docs/operating.md. */
export const runtimePackages = [
  "qemu-system-x86",
  "qemu-utils",
  "e2fsprogs",
  "util-linux",
  "slirp4netns",
  "iproute2",
  "nftables",
  "squashfs-tools"
] as const

const BINARY = "qemu-system-x86_64"

export interface QemuBuild {
  readonly binary: string
  /** The version as QEMU prints it: part of a template's key. */
  readonly version: string
  /** Copy-on-write clones of a memory file and migration to files came with 8.2. */
  readonly clones: boolean
}

/** Rejects with a sentence that says what to install. */
export const findQemu = async (): Promise<QemuBuild> => {
  const answer = await execute(BINARY, ["--version"]).catch(() => null)
  if (answer === null) throw new Error(`QEMU is not installed: apt-get install ${runtimePackages.join(" ")}`)
  const version = answer.stdout.split("\n", 1)[0] ?? ""
  const [, major, minor] = /version (\d+)\.(\d+)/.exec(version) ?? []
  if (major === undefined) throw new Error("QEMU does not say its version.")
  return { binary: BINARY, version, clones: Number(major) * 100 + Number(minor) >= 802 }
}
