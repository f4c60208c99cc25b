/**
 * The tar codec of `clients/typescript`: a copy of the one that the agent is bundled with. The published package has all its files below `src/`, and
 * the service's image has no `clients/`, so neither can import the other's.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const source = "src/platform/tar"
const folder = join(import.meta.dirname, "../..", source)

/** Paths below `clients/typescript`, and their contents. */
export const tarFiles = (): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder).map((name) => [
      `src/generated/tar/${name}`,
      `// Copied by \`npm run clients\` from ${source}/${name}. Not to be edited.\n\n${readFileSync(join(folder, name), "utf8")}`
    ])
  )
