/**
 * `npm run release`: builds both client libraries, checks them installed in clean rooms, and says what it would publish.
 *
 *     npm run release -- [--dry-run] [--out FOLDER] [--repository URL] [--publish]
 *
 * `--dry-run` is the default. `--out` keeps the packages; by default they are in dist/release. `--repository` is the public address of these
 * sources: it goes into both packages. `--publish` publishes, if nothing is wrong and everything is committed.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { type Artifact, buildPython, buildTypescript, type Source } from "./release/build.ts"
import { cleanRooms, type Room } from "./release/cleanRooms.ts"
import { run } from "./release/run.ts"
import { versionFaults, versionsOf } from "./release/versions.ts"

const root = join(import.meta.dirname, "..")
const { values } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    publish: { type: "boolean", default: false },
    out: { type: "string", default: join(root, "dist/release") },
    repository: { type: "string" }
  }
})

const git = (...args: ReadonlyArray<string>): string => run("git", args, { cwd: root }).trim()

const sourceOf = (repository: string | undefined): Source => ({
  root,
  commit: git("rev-parse", "HEAD"),
  epochSeconds: Number(git("log", "-1", "--format=%ct")),
  repository: repository ?? null
})

const shown = ({ file, bytes, sha256 }: Artifact): string =>
  `  ${basename(file)}  ${(bytes / 1024).toFixed(0)} KiB\n    sha256 ${sha256}`

const shownRoom = ({ name, fault, missing }: Room): string =>
  missing !== null
    ? `  skipped  ${name}: ${missing}`
    : fault === null
      ? `  ok       ${name}`
      : `  FAILED   ${name}: ${fault}`

/** What was built from what, beside the packages. */
const provenance = ({ commit, repository }: Source, artifacts: ReadonlyArray<Artifact>) => ({
  repository,
  commit,
  description: versionsOf(root).description,
  node: process.version,
  packages: artifacts.map(({ file, sha256, integrity }) => ({ name: basename(file), sha256, integrity }))
})

const publishCommands = (packed: Artifact, python: ReadonlyArray<Artifact>): ReadonlyArray<ReadonlyArray<string>> => [
  ["npm", "publish", packed.file],
  ["python3", "-m", "twine", "upload", ...python.map(({ file }) => file)]
]

const release = (work: string, out: string): boolean => {
  const source = sourceOf(values.repository)
  const versions = versionsOf(root)
  const uncommitted = git("status", "--porcelain", "--", "clients")
  const faults = [
    ...versionFaults(root),
    ...(values.publish && uncommitted !== "" ? [`These are not committed:\n${uncommitted}`] : []),
    ...(values.publish && source.repository === null
      ? ["Name the public address of these sources: --repository URL."]
      : [])
  ]
  for (const fault of faults) console.error(`FAILED   ${fault}`)
  if (faults.length > 0) return false
  run(process.execPath, [join(root, "scripts/clients.ts"), "--check"], { cwd: root })

  mkdirSync(out, { recursive: true })
  const [sources, rooms] = [join(work, "sources"), join(work, "rooms")]
  for (const folder of [sources, rooms]) mkdirSync(folder)
  const packed = buildTypescript(source, sources, out)
  const python = buildPython(source, sources, out)
  const artifacts = [packed, ...python]
  writeFileSync(join(out, "provenance.json"), `${JSON.stringify(provenance(source, artifacts), null, 2)}\n`)
  console.log(`Built from ${source.commit}${uncommitted === "" ? "" : " and what is not committed"}, in ${out}:`)
  for (const one of artifacts) console.log(shown(one))

  console.log("\nInstalled in clean rooms:")
  const wheel = python.find(({ file }) => file.endsWith(".whl"))!
  const built = {
    root,
    packed: packed.file,
    version: `atoll ${versions.typescript.version} (API ${versions.description}`
  }
  let isGood = true
  for (const room of cleanRooms(built, wheel.file, rooms)) {
    console.log(shownRoom(room))
    isGood &&= room.fault === null
  }
  const commands = publishCommands(packed, python)
  const { typescript, python: wheelOf } = versions
  console.log(
    `\n${values.publish ? "Publishes" : "Would publish"} ${typescript.name} ${typescript.version} and ${wheelOf.name} ${wheelOf.version}:`
  )
  for (const [program, ...args] of commands) {
    console.log(`  ${[program, ...args].join(" ")}`)
    if (values.publish && isGood) console.log(run(program!, args, { cwd: root }))
  }
  return isGood
}

if (values.publish && values["dry-run"]) throw new Error("--publish and --dry-run exclude each other.")
const work = mkdtempSync(join(tmpdir(), "atoll-release-"))
try {
  if (!release(work, resolve(values.out))) process.exitCode = 1
} finally {
  rmSync(work, { recursive: true, force: true })
}
