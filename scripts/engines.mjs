/**
 * The versions of Node, Deno and Bun that the TypeScript library promises to run on, for its tests.
 * They have 700 MB, so they are no dependencies of the repository: every installation of Atoll would have them too.
 * `test/system/clients/engines/` names them with the digests of their packages, and `npm run test:all` installs them
 * once for all work trees of a machine. No package needs its install script.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { ownEnvironment, root } from "./setup.mjs"

const named = join(root, "test/system/clients/engines")
const files = ["package.json", "package-lock.json"]

const cacheFolder = () =>
  process.getuid?.() === 0 ? "/var/cache/atoll" : join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "atoll")

/** Where the packages are, once they are installed: another folder for other versions. */
export const enginesFolder = () => {
  const hash = createHash("sha256")
  for (const file of files) hash.update(readFileSync(join(named, file)))
  return join(cacheFolder(), `engines-${hash.digest("hex").slice(0, 12)}`)
}

/** @returns {boolean} Whether they are there. */
export const setUpEngines = () => {
  const folder = enginesFolder()
  if (process.platform !== "linux" || existsSync(folder)) return true
  process.stderr.write("Installing the engines that the client library is tested on (once) …\n")
  let made = null
  try {
    mkdirSync(dirname(folder), { recursive: true })
    made = mkdtempSync(`${folder}-`)
    for (const file of files) copyFileSync(join(named, file), join(made, file))
    const args = ["ci", "--ignore-scripts", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"]
    const { status } = spawnSync("npm", args, { cwd: made, stdio: ["ignore", 2, 2], env: ownEnvironment() })
    // Another run may have been first.
    if (status === 0 && !existsSync(folder)) renameSync(made, folder)
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
  } finally {
    if (made !== null) rmSync(made, { recursive: true, force: true })
  }
  return existsSync(folder)
}
