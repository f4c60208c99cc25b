/**
 * Caches files made from sources, beside the packages, until a source changes: otherwise each start of the service would make them again. If the
 * cache cannot be written, they are made each time.
 */
import { createHash, randomUUID } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { deserialize, serialize } from "node:v8"

const root = join(import.meta.dirname, "../../..")

/** The folder of the cache. */
export const keptFolder = join(root, "node_modules/.cache/atoll")

/** A file system's clock ticks coarsely. */
const tickMs = 100

/** Several checkouts may share one package folder, and so this cache: it keeps the result of the last one. */
const maker = `${process.version} ${root}`

interface Kept<A> {
  readonly maker: string
  /** Path and digest of each source; null when the source is missing. */
  readonly sources: ReadonlyArray<readonly [path: string, digest: string | null]>
  readonly value: A
}

const digestOf = (path: string): string | null => {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("base64url")
  } catch {
    return null
  }
}

/** A source that changed during the build may have been read before the change. */
const isOlder = (path: string, instantMs: number): boolean => {
  const found = statSync(path, { throwIfNoEntry: false })
  // A plugin's virtual file does not exist.
  return found === undefined || Math.max(found.ctimeMs, found.mtimeMs) < instantMs - tickMs
}

const read = async <A>(path: string): Promise<Kept<A> | null> => {
  try {
    const found = deserialize(await readFile(path)) as Kept<A>
    return found.maker === maker && found.sources.every(([source, digest]) => digestOf(source) === digest)
      ? found
      : null
  } catch {
    return null
  }
}

const write = async <A>(path: string, made: Kept<A>): Promise<void> => {
  const temporary = `${path}.${randomUUID()}`
  try {
    await mkdir(keptFolder, { recursive: true })
    await writeFile(temporary, serialize(made))
    await rename(temporary, path)
  } catch {
    await rm(temporary, { force: true }).catch(() => {})
  }
}

/**
 * @param name The name of the cached file.
 * @param makers Paths of the code that makes it, unless `make` lists them among its sources.
 */
export const kept = async <A>(
  name: string,
  makers: ReadonlyArray<string>,
  make: () => Promise<{ readonly value: A; readonly sources: ReadonlyArray<string> }>
): Promise<A> => {
  const path = join(keptFolder, name)
  const before = await read<A>(path)
  if (before !== null) return before.value
  const begun = Date.now()
  const { value, sources } = await make()
  const all = [...new Set([...sources, ...makers, import.meta.filename, join(root, "package-lock.json")])]
  const digests = all.map((source) => [source, digestOf(source)] as const)
  if (all.every((source) => isOlder(source, begun))) await write(path, { maker, sources: digests, value })
  return value
}
