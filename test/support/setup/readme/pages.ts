/** The README and the pages of docs/, in the reading order. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../../..")

export interface Page {
  /** From the root of the repository. */
  readonly path: string
  readonly text: string
}

const page = (path: string): Page => ({ path, text: readFileSync(join(root, path), "utf8") })

/** @throws When there is no such page. */
export const pageOf = (path: string): Page => {
  const found = pages.find((one) => one.path === path)
  if (found === undefined) throw new Error(`No page of the documents: ${path}`)
  return found
}

export const pages: ReadonlyArray<Page> = [
  "README.md",
  "docs/api.md",
  "docs/agents.md",
  "docs/sandboxes.md",
  "docs/machines.md",
  "docs/console.md",
  "docs/accounts-and-credit.md",
  "docs/security.md",
  "docs/settings.md",
  "docs/operating.md",
  "docs/fleet.md",
  "docs/troubleshooting.md",
  "docs/development.md"
].map(page)
