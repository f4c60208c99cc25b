/** Keeps the compiled code of the sources over restarts: to read, strip and compile them takes almost half of a start. */
import { flushCompileCache } from "node:module"
import "./enabled.mjs"

/** After a start, and before most kills: Node otherwise writes it only when a process ends by itself. */
const WRITTEN_AFTER_MS = 10_000

/** For modules that are loaded since this one was. */
export const keepCompiled = (): void => {
  setTimeout(flushCompileCache, WRITTEN_AFTER_MS).unref()
}
