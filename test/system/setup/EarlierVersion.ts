/** An earlier commit of this repository, to be started beside this one. */
import { execFileSync } from "node:child_process"
import { symlinkSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { testFolder } from "../../support/testFolder.ts"

const root = join(import.meta.dirname, "../../..")

/** A clone of another user may be read, too; and it is this one, regardless of the environment. */
const git = (...words: ReadonlyArray<string>): Buffer =>
  execFileSync("git", ["-c", "safe.directory=*", "-C", root, ...words], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 256 * 1024 ** 2
  })

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly dev?: boolean; readonly optional?: boolean }>
  >
}

/** Null where every package that the commit's service needs is here in the same version. */
const packagesObstacle = async (commit: string): Promise<string | null> => {
  const here = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as Lock
  const there = JSON.parse(git("show", `${commit}:package-lock.json`).toString()) as Lock
  const other = Object.entries(there.packages).find(
    ([path, { version, dev }]) => path !== "" && dev !== true && here.packages[path]?.version !== version
  )
  return other === undefined ? null : `It needs ${other[0]} ${other[1].version}, which is not installed here.`
}

export interface EarlierVersion {
  readonly commit: string
  /** Null when it can be started here; else a sentence with the reason. */
  readonly obstacle: string | null
}

/** @param revision As git names it, or null when there is none. */
const versionAt = async (revision: string | null): Promise<EarlierVersion> => {
  const absent = { commit: "-", obstacle: "This clone has no history that reaches back to an earlier version." }
  if (revision === null) return absent
  try {
    const commit = git("rev-parse", "--verify", "--quiet", `${revision}^{commit}`).toString().trim()
    return { commit, obstacle: await packagesObstacle(commit) }
  } catch {
    return absent
  }
}

const lastMigration = (): string | null => {
  try {
    return git("log", "-1", "--format=%H", "--", "src/store/migrations").toString().trim() || null
  } catch {
    return null
  }
}

/** The commit before this one. */
export const commitBefore = await versionAt("HEAD~1")

/** The last commit with another schema of the database. */
export const commitBeforeMigration = await versionAt(lastMigration()?.concat("~1") ?? null)

/** Its sources, in a separate folder, with the packages of this one. */
export const sourcesOf = ({ commit }: EarlierVersion) =>
  Effect.map(testFolder, (folder) => {
    execFileSync("tar", ["--extract", "--directory", folder], { input: git("archive", commit) })
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
    return folder
  })
