/** Where trees that a guest made are put aside at once and removed by and by, one after the other, over restarts of the service too. */
import { randomUUID } from "node:crypto"
import { readdirSync } from "node:fs"
import { mkdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { removeTree, type TreeRemoval } from "./treeRemoval.ts"

export class Trash {
  private readonly folder: string
  private current: TreeRemoval | null = null
  private closed = false

  /** On the file system of what is put there. */
  constructor(folder: string) {
    this.folder = folder
  }

  /** From now on there is nothing at that path. Nothing happens when there was nothing. */
  async discard(path: string): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    try {
      await rename(path, join(this.folder, randomUUID()))
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause
    }
    this.empty()
  }

  /** Goes on removing what is there. */
  empty(): void {
    if (this.closed || this.current !== null || this.names().length === 0) return
    void this.emptyAll(this.names())
  }

  /** What is left stays for the next service. */
  async close(): Promise<void> {
    this.closed = true
    await this.current?.cancel()
  }

  /** Each once: one that cannot be removed is tried again by the next service. */
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
