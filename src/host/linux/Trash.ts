/**
 * A trash folder: trees that a guest made are moved into it immediately and removed one after the other in the background, also after a restart of
 * the service.
 */
import { randomUUID } from "node:crypto"
import { readdirSync } from "node:fs"
import { mkdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { removeTree, type TreeRemoval } from "./treeRemoval.ts"

export class Trash {
  private readonly folder: string
  private current: TreeRemoval | null = null
  private closed = false

  /** `folder` must be on the file system of the trees that are discarded. */
  constructor(folder: string) {
    this.folder = folder
  }

  /** Moves the tree at `path` away. A missing tree is no error. */
  async discard(path: string): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    try {
      await rename(path, join(this.folder, randomUUID()))
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause
    }
    this.empty()
  }

  /** Starts to remove the content, unless a removal already runs. */
  empty(): void {
    if (this.closed || this.current !== null || this.names().length === 0) return
    void this.emptyAll(this.names())
  }

  /** Stops the removal. The next service process removes the rest. */
  async close(): Promise<void> {
    this.closed = true
    await this.current?.cancel()
  }

  /** Tries each tree once. The next service process retries a tree that could not be removed. */
  private async emptyAll(names: ReadonlyArray<string>): Promise<void> {
    const tried = new Set<string>()
    for (let fresh = names; fresh.length > 0 && !this.closed; fresh = this.names().filter((it) => !tried.has(it))) {
      for (const name of fresh) {
        if (this.closed) return
        tried.add(name)
        this.current = removeTree(join(this.folder, name))
        await this.current.done
      }
    }
    this.current = null
  }

  private names(): ReadonlyArray<string> {
    try {
      return readdirSync(this.folder)
    } catch {
      return []
    }
  }
}
