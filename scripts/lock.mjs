/**
 * The lock file must serve every machine: it names no registry, and has an entry for each package's builds for other
 * platforms, or `npm ci` refuses it. npm leaves those out that the registry of whoever wrote it did not have.
 *
 * Checks it; with `--complete` adds such entries (platform from the name, no integrity: they are never installed here).
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const path = join(import.meta.dirname, "../package-lock.json")
const lock = JSON.parse(readFileSync(path, "utf8"))

const isLocked = (from, name) => {
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

const faults = []
for (const [from, entry] of Object.entries(lock.packages)) {
  if (entry.resolved !== undefined) faults.push(`${from} names a registry ("resolved")`)
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(from, name)) continue
    const added = process.argv.includes("--complete") && from !== "" ? platformEntry(name, version, entry) : null
    if (added === null) faults.push(`${from} wants ${name}@${version}, which is not in the lock file`)
    else lock.packages[`node_modules/${name}`] = added
  }
}

if (process.argv.includes("--complete")) {
  const sorted = Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
}
for (const fault of faults) console.error(`package-lock.json: ${fault}; run node scripts/lock.mjs --complete`)
process.exitCode = faults.length > 0 ? 1 : 0
