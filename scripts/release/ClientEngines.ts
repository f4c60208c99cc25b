/** What the TypeScript library promises to run on, as programs of this machine. */
import { existsSync } from "node:fs"
import { join } from "node:path"

// Plain JavaScript, so that any Node can run it.
const { enginesFolder }: { readonly enginesFolder: () => string } = await import(
  new URL("../engines.mjs", import.meta.url).href
)

const { arch } = process

export interface Engine {
  readonly name: string
  readonly isNode: boolean
  readonly program: string
  /** Before the file that is run. */
  readonly words: ReadonlyArray<string>
  /** Null: it is there. */
  readonly obstacle: string | null
}

const installed = (name: string, path: string, words: ReadonlyArray<string> = []): Engine => {
  const program = join(enginesFolder(), "node_modules", path)
  const obstacle = existsSync(program)
    ? null
    : `there is no ${program}: \`npm run test:all\` installs it where the registry has it`
  return { name, isNode: name.startsWith("Node"), program, words, obstacle }
}

/** The oldest that package.json's `engines` allow, the newest of each line, and the others. */
export const engines: ReadonlyArray<Engine> = [
  installed("Node 20.3", `node-20.3-linux-${arch}/bin/node`),
  installed("Node 20", `node-20-linux-${arch}/bin/node`),
  installed("Node 22", `node-22-linux-${arch}/bin/node`),
  { name: "Node 24", isNode: true, program: process.execPath, words: [], obstacle: null },
  installed("Deno", `@deno/linux-${arch}-glibc/deno`, ["run", "--quiet", "--allow-all", "--node-modules-dir=manual"]),
  installed("Bun", `@oven/bun-linux-${arch === "arm64" ? "aarch64" : arch}/bin/bun`)
]
