/** A folder of a user who installed `@atoll/client`, as it is published, with its command line. */
import { execFile } from "node:child_process"
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

const root = join(import.meta.dirname, "../../../..")
export const typescriptFolder = join(root, "clients/typescript")

export const runTsc = (folder: string, ...options: ReadonlyArray<string>) =>
  promisify(execFile)(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...options], { cwd: folder })

/** @returns The package's own folder. */
export const installLibrary = async (folder: string): Promise<string> => {
  const installed = join(folder, "node_modules/@atoll/client")
  mkdirSync(installed, { recursive: true })
  copyFileSync(join(typescriptFolder, "package.json"), join(installed, "package.json"))
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }))
  await runTsc(folder, "-p", typescriptFolder, "--outDir", join(installed, "dist"))
  return installed
}
