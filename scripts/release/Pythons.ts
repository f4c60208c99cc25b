/** The Pythons that the library promises to run on, as far as this machine has them. */
import { spawnSync } from "node:child_process"
import { globSync, symlinkSync } from "node:fs"
import { homedir } from "node:os"
import { delimiter, join } from "node:path"

/** Without what the surroundings say of Python and of proxies. */
export const plainEnvironment = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", PYTHONDONTWRITEBYTECODE: "1" }

const oldestMinor = 9
const newestMinor = 13

export interface PythonVersion {
  readonly name: string
  /** Null: this machine has none. */
  readonly program: string | null
}

/** Where distributions, their users and pyenv put them. */
const places = (minor: number): ReadonlyArray<string> => {
  const folders = ["/usr/bin", "/usr/local/bin", ...(process.env["PATH"] ?? "").split(delimiter)]
  const managed = join(process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv"), `versions/3.${minor}.*/bin/python3`)
  return [...folders.map((folder) => join(folder, `python3.${minor}`)), ...globSync(managed)]
}

const isVersion = (program: string, minor: number): boolean => {
  const words = ["-c", "import ssl, sys; print(sys.version_info[:2])"]
  return spawnSync(program, words, { env: plainEnvironment, encoding: "utf8" }).stdout === `(3, ${minor})\n`
}

export const pythons: ReadonlyArray<PythonVersion> = Array.from({ length: newestMinor - oldestMinor + 1 }, (_, at) => {
  const minor = oldestMinor + at
  const program = places(minor).find((place) => isVersion(place, minor)) ?? null
  return { name: `Python 3.${minor}`, program }
})

/** httpx with all that it needs: modules of Python alone, so Debian's serve every version. */
const modules = ["anyio", "certifi", "h11", "httpcore", "httpx", "idna", "rfc3986", "sniffio", "typing_extensions.py"]

/** A folder with nothing else of Debian's Python. */
export const linkPackages = (folder: string): string => {
  for (const name of modules) symlinkSync(join("/usr/lib/python3/dist-packages", name), join(folder, name))
  return folder
}
