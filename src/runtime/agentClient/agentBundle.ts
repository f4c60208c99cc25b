/**
 * Bundles the agent into one file on first use. The file is named by the hash of its content, so that running Sandboxes keep the one they started
 * with.
 */
import { createHash, randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundle } from "../../platform/bundle/bundle.ts"
import { kept } from "../../platform/bundle/kept.ts"

const ENTRY = fileURLToPath(new URL("../../agent/main.ts", import.meta.url))

/**
 * Node's arguments for the agent. `--use-openssl-ca`: HTTP/2 loads TLS, which otherwise parses all root certificates in a thread. The agent uses no
 * certificate, and without them it starts with 11 of 57 ms less CPU time and needs 1.6 MiB less memory.
 * `--no-memory-reducer-for-small-heaps`: V8 looks every 8 s whether it should reduce an idle heap, and never reduces one as small as an idle agent's. For
 * 1,000 agents that look was 1.5 % of a core. `--expose-gc`: for `agent/idleHeap.ts`.
 */
export const AGENT_NODE_ARGUMENTS = [
  "--max-old-space-size=64",
  "--v8-pool-size=0",
  "--no-memory-reducer-for-small-heaps",
  "--expose-gc",
  "--no-warnings",
  "--use-openssl-ca"
] as const

const make = async () => {
  const { files, sources } = await bundle({
    entryPoints: [ENTRY],
    bundle: true,
    platform: "node",
    target: "node24",
    // CommonJS starts 15 to 20 ms sooner: Node does not load its module loader.
    format: "cjs",
    minify: true,
    legalComments: "none"
  })
  return { value: files[0]!.contents, sources }
}

const makers = [import.meta.filename, join(import.meta.dirname, "../../platform/bundle/bundle.ts")]

/** Path of `agent-<sha256 prefix>.cjs` in `folder`, which is made if it is missing. World-readable. */
export const agentBundle = async (folder: string): Promise<string> => {
  const code = await kept("agent", makers, make)
  const path = join(folder, `agent-${createHash("sha256").update(code).digest("hex").slice(0, 16)}.cjs`)
  if (existsSync(path)) return path
  await mkdir(folder, { recursive: true, mode: 0o755 })
  const temporary = `${path}.${randomUUID()}`
  await writeFile(temporary, code, { mode: 0o644 })
  await rename(temporary, path)
  return path
}
