/**
 * `npm run vm:image [-- --refresh]`: everything that real virtual machines need on this host.
 * Installs QEMU and the image's tools as root or with sudo (otherwise says how), then builds the guest's image, which
 * takes half a minute the first time. On Debian bookworm QEMU comes from backports: its own 7.2 cannot start machines
 * from a template. The backports archive is named for this one installation only; the machine's list of archives is not
 * changed.
 */
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { modernNode, ownEnvironment, root, setUpPackages } from "./setup.mjs"

/** By their programs. @see src/host/qemu/QemuBuild.ts, src/host/qemu/image/build.ts */
const debianPackages = {
  "qemu-system-x86_64": "qemu-system-x86",
  "qemu-img": "qemu-utils",
  mke2fs: "e2fsprogs",
  slirp4netns: "slirp4netns",
  ip: "iproute2",
  nft: "nftables",
  mksquashfs: "squashfs-tools",
  setpriv: "util-linux",
  mmdebstrap: "mmdebstrap"
}

const say = (text) => process.stderr.write(`${text}\n`)

const programFolders = () => [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"]

const onPath = (program) => programFolders().some((folder) => existsSync(join(folder, program)))

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

const missingPackages = () => [
  ...new Set([
    ...Object.entries(debianPackages).flatMap(([program, name]) => (onPath(program) ? [] : [name])),
    ...(existsSync(keyring) ? [] : ["debian-archive-keyring"])
  ])
]

const codename = () => /^VERSION_CODENAME=(.*)$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? ""

/** Null when there is no way to become root. */
const asRoot = () => {
  if (process.getuid?.() === 0) return []
  return onPath("sudo") && spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0 ? ["sudo", "-n"] : null
}

/** The archive from which this machine gets its Debian release, by its own configuration; null if it names none. */
const archiveOf = (release) => {
  const { stdout } = spawnSync("apt-get", ["indextargets", "--format", "$(RELEASE) $(REPO_URI)"], { encoding: "utf8" })
  const line = (stdout ?? "").split("\n").find((candidate) => candidate.startsWith(`${release} `))
  return line?.slice(release.length + 1) ?? null
}

/** Options that make apt use backports for one call, with separate package lists. */
const backports = (archive) => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-apt-"))
  // apt makes lists only below its own folders, and drops its rights before it fetches.
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, "lists/partial"), { recursive: true })
  const suites = ["bookworm", "bookworm-updates", "bookworm-backports"]
  const lines = suites.map((suite) => `deb [signed-by=${keyring}] ${archive} ${suite} main\n`)
  writeFileSync(join(folder, "sources.list"), lines.join(""))
  return {
    folder,
    options: [
      `Dir::Etc::SourceList=${folder}/sources.list`,
      "Dir::Etc::SourceParts=/dev/null",
      `Dir::State::Lists=${folder}/lists`
    ],
    install: ["--target-release", "bookworm-backports"]
  }
}

/** @returns {boolean} Whether everything is there now. */
const installPackages = () => {
  const missing = missingPackages()
  if (missing.length === 0) return true
  const prefix = asRoot()
  const early = codename() === "bookworm" && missing.includes("qemu-system-x86")
  const archive = early ? archiveOf("bookworm") : null
  if (early && archive === null) {
    say("Virtual machines need QEMU from bookworm-backports, and apt here is not set up for Debian's own archive.")
    return false
  }
  if (prefix === null || !onPath("apt-get")) {
    say(`Virtual machines need ${missing.join(", ")}. As root:\n`)
    if (early) say(`    echo "deb ${archive} bookworm-backports main" > /etc/apt/sources.list.d/backports.list`)
    say(`    apt-get update && apt-get install ${early ? "-t bookworm-backports " : ""}${missing.join(" ")}\n`)
    return false
  }
  say(`Installing ${missing.join(", ")}, which virtual machines need …`)
  const own = early ? backports(archive) : { folder: null, options: [], install: [] }
  const apt = (...args) => {
    const options = ["DPkg::Lock::Timeout=120", ...own.options].flatMap((option) => ["-o", option])
    const [program, ...rest] = [...prefix, "apt-get", "-qq", ...options, ...args]
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
    return spawnSync(program, rest, { stdio: ["ignore", 2, 2], env }).status === 0
  }
  try {
    return apt("update") && apt("install", "--yes", "--no-install-recommends", ...own.install, ...missing)
  } finally {
    if (own.folder !== null) rmSync(own.folder, { recursive: true, force: true })
  }
}

/** @returns {boolean} Whether virtual machines have what they need here; if not, a sentence has said why. */
export const setUpMachines = (args = []) => {
  if (process.platform !== "linux" || process.arch !== "x64") {
    say("Virtual machines need Linux on x86-64; Sandboxes here are namespaces.")
    return false
  }
  if (!installPackages()) return false
  const { status } = spawnSync(modernNode(), ["--no-warnings", "src/host/qemu/image/build.ts", ...args], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    env: ownEnvironment()
  })
  return status === 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setUpPackages()
  process.exitCode = setUpMachines(process.argv.slice(2)) ? 0 : 1
}
