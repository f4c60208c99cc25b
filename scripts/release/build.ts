/** Builds both packages from copies of their sources, so that the work tree stays as it is. */
import { createHash } from "node:crypto"
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { plainEnvironment } from "./Pythons.ts"
import { run } from "./run.ts"

export interface Source {
  readonly root: string
  /** Of the commit, null where there is none. */
  readonly commit: string | null
  /** Of the commit: the times of the files in the wheel, so that the same sources make the same bytes. Seconds since 1970. */
  readonly epochSeconds: number
  /** The public address of these sources, which registries show and compare with a provenance statement. Null: the packages name none. */
  readonly repository: string | null
}

export interface Artifact {
  readonly file: string
  readonly bytes: number
  readonly sha256: string
  /** As npm and browsers write it. */
  readonly integrity: string
}

const python = "/usr/bin/python3"

const left = new Set(["node_modules", "dist", "build", "__pycache__"])

const copied = (from: string, to: string): string => {
  cpSync(from, to, {
    recursive: true,
    filter: (path) => !left.has(path.slice(path.lastIndexOf("/") + 1)) && !path.endsWith(".egg-info")
  })
  return to
}

const artifact = (folder: string, name: string): Artifact => {
  const content = readFileSync(join(folder, name))
  const digest = (algorithm: string) => createHash(algorithm).update(content)
  return {
    file: join(folder, name),
    bytes: content.byteLength,
    sha256: digest("sha256").digest("hex"),
    integrity: `sha512-${digest("sha512").digest("base64")}`
  }
}

/** Moves what was built to where it is kept, over what an earlier release left there. */
const kept = (made: string, into: string): ReadonlyArray<Artifact> => {
  cpSync(made, into, { recursive: true })
  return readdirSync(made)
    .sort()
    .map((name) => artifact(into, name))
}

const emptyFolder = (path: string): string => {
  mkdirSync(path)
  return path
}

/** @param work An empty folder. */
export const buildTypescript = ({ root, commit, repository }: Source, work: string, into: string): Artifact => {
  const folder = copied(join(root, "clients/typescript"), join(work, "clients/typescript"))
  // Its compiler options extend the repository's.
  cpSync(join(root, "tsconfig.json"), join(work, "tsconfig.json"))
  symlinkSync(join(root, "node_modules"), join(work, "node_modules"))
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const known = {
    ...manifest,
    ...(repository === null ? {} : { repository: { type: "git", url: repository, directory: "clients/typescript" } }),
    ...(commit === null ? {} : { gitHead: commit })
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(known, null, 2)}\n`)
  const path = `${join(root, "node_modules/.bin")}:${process.env["PATH"]}`
  const made = emptyFolder(join(work, "packed"))
  run("npm", ["pack", "--silent", "--pack-destination", made], { cwd: folder, env: { ...process.env, PATH: path } })
  return kept(made, into)[0]!
}

/** A wheel and the sources. @param work An empty folder. */
export const buildPython = ({ root, epochSeconds, repository }: Source, work: string, into: string) => {
  const folder = copied(join(root, "clients/python"), join(work, "python"))
  if (repository !== null)
    appendFileSync(join(folder, "pyproject.toml"), `\n[project.urls]\nSource = "${repository}"\n`)
  const env = { ...plainEnvironment, SOURCE_DATE_EPOCH: String(epochSeconds) }
  const made = emptyFolder(join(work, "wheels"))
  for (const kind of ["sdist", "wheel"]) {
    const program = `import sys; from setuptools import build_meta; build_meta.build_${kind}(sys.argv[1])`
    run(python, ["-c", program, made], { cwd: folder, env })
  }
  return kept(made, into)
}
