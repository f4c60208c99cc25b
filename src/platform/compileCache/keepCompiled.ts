/** Keeps the compiled code of the sources over restarts: to read, strip and compile them takes almost half of a start. */
import { enableCompileCache, flushCompileCache } from "node:module"
import { fileURLToPath } from "node:url"

/** Beside the installed packages, where only their owner may write. */
const folder = fileURLToPath(new URL("../../../node_modules/.cache/compiled", import.meta.url))

/** After a start, and before most kills: Node otherwise writes it only when a process ends by itself. */
const WRITTEN_AFTER_MS = 10_000

/**
 * For modules that are loaded from now on. NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 turns it off. Where the folder cannot be
 * written, nothing is kept, and nothing fails.
 */
export const keepCompiled = (): void => {
  enableCompileCache(process.env["NODE_COMPILE_CACHE"] ?? folder)
  setTimeout(flushCompileCache, WRITTEN_AFTER_MS).unref()
}
