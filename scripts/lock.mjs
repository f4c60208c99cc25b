/**
 * The lock files must serve every machine: they name no registry, and have an entry for each package's builds for other
 * platforms, or `npm ci` refuses them. npm leaves out those that were not in the registry of the developer who wrote the file.
 *
 * Checks them; with `--complete` adds such entries (platform from the name, no integrity: they are never installed here).
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")
const isCompleting = process.argv.includes("--complete")

const isLocked = (lock, from, name) => {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    if (lock.packages[`${folder === "" ? "" : `${folder}/`}node_modules/${name}`]) return true
    if (folder === "") return false
  }
}

const systems = /\b(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)\b/
const processors = /\b(arm64|arm|ia32|loong64|mips64el|ppc64|riscv64|s390x|wasm32|x64)\b/

const platformEntry = (name, version, parent) => {
  const os = systems.exec(name)?.[1]
  const cpu = processors.exec(name)?.[1]
  if (os === undefined || cpu === undefined) return null
  return {
    version,
    cpu: [cpu],
    ...(parent.dev ? { dev: true } : {}),
    ...(/\bmusl/.test(name) ? { libc: ["musl"] } : {}),
    optional: true,
    os: [os]
  }
}

const faultsOf = (path) => {
  const lock = JSON.parse(readFileSync(path, "utf8"))
  const faults = []
  for (const [from, entry] of Object.entries(lock.packages)) {
    if (entry.resolved !== undefined) faults.push(`${from} names a registry ("resolved")`)
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (isLocked(lock, from, name)) continue
      const added = isCompleting && from !== "" ? platformEntry(name, version, entry) : null
      if (added === null) faults.push(`${from} wants ${name}@${version}, which is not in the lock file`)
      else lock.packages[`node_modules/${name}`] = added
    }
  }
  if (isCompleting) {
    const sorted = Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1))
    writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
  }
  return faults
}

for (const name of ["package-lock.json", "test/system/clients/engines/package-lock.json"]) {
  for (const fault of faultsOf(join(root, name))) {
    console.error(`${name}: ${fault}; run node scripts/lock.mjs --complete`)
    process.exitCode = 1
  }
}
