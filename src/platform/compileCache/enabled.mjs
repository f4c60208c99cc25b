/**
 * Turns on Node's cache of compiled code, for what is loaded after this file. It is JavaScript, so that an entry (`main.mjs`) can import it before any
 * TypeScript: Node strips the types of a file that is not in the cache yet by a compiler in WebAssembly, and to load that takes 110 ms and 18 MB.
 *
 * NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 turns it off. Where the folder cannot be written, nothing is kept, and
 * nothing fails.
 */
import { enableCompileCache } from "node:module"
import { fileURLToPath } from "node:url"

/** Beside the installed packages, where only their owner may write. */
const folder = fileURLToPath(new URL("../../../node_modules/.cache/compiled", import.meta.url))

enableCompileCache(process.env.NODE_COMPILE_CACHE ?? folder)
