import { join } from "node:path"

/** For the environment of a Node that a test starts: what one has compiled the next one does not, which is half of its start. */
export const compiledOnce = { NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/compiled") }
