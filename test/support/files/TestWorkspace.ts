/** A plain directory that stands for /workspace, with a sibling that no call may ever reach. */
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { Editor } from "../../../src/agent/files/edit.ts"
import { FileRefusal } from "../../../src/agent/files/FileRefusal.ts"
import { Listings } from "../../../src/agent/files/Listings.ts"
import { Staging } from "../../../src/agent/files/Staging.ts"
import { Workspace } from "../../../src/agent/files/Workspace.ts"

export class TestWorkspace implements Disposable {
  readonly base: string
  /** The folder of /workspace on disk. */
  readonly root: string
  readonly outside: string
  readonly workspace: Workspace
  readonly staging: Staging
  readonly editor: Editor
  readonly listings: Listings

  constructor(parent = os.tmpdir()) {
    this.base = fs.mkdtempSync(path.join(parent, "atoll-files-"))
    this.root = path.join(this.base, "workspace")
    this.outside = path.join(this.base, "outside")
    fs.mkdirSync(this.root)
    fs.mkdirSync(this.outside)
    fs.writeFileSync(path.join(this.outside, "secret"), "secret")
    this.workspace = new Workspace(this.root)
    this.staging = new Staging(this.workspace)
    this.editor = new Editor(this.workspace, this.staging)
    this.listings = new Listings(this.workspace)
  }

  on(relative: string): string {
    return path.join(this.root, relative)
  }

  put(relative: string, content: string | Uint8Array = ""): void {
    fs.mkdirSync(path.dirname(this.on(relative)), { recursive: true })
    fs.writeFileSync(this.on(relative), content)
  }

  /** All files, staging included: `path: content`, links as `path -> target`, directories as `path/`. */
  tree(): ReadonlyArray<string> {
    return fs
      .readdirSync(this.root, { recursive: true, withFileTypes: true })
      .map((entry) => {
        const full = path.join(entry.parentPath, entry.name)
        const shown = path.relative(this.root, full)
        if (entry.isSymbolicLink()) return `${shown} -> ${fs.readlinkSync(full)}`
        if (entry.isDirectory()) return `${shown}/`
        return entry.isFile() ? `${shown}: ${fs.readFileSync(full, "latin1")}` : `${shown}?`
      })
      .sort()
  }

  /** Descriptors of this process in this workspace, except the workspace's own. */
  leakedDescriptors(): number {
    return fs.readdirSync("/proc/self/fd").filter((descriptor) => {
      try {
        return (
          Number(descriptor) !== this.workspace.root &&
          fs.readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(this.root)
        )
      } catch {
        return false
      }
    }).length
  }

  [Symbol.dispose](): void {
    this.workspace[Symbol.dispose]()
    // A write that was given up may still be removing its staging file.
    fs.rmSync(this.base, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 })
  }
}

/** The code of a refusal, `ok` for none; any other failure is thrown. */
export const codeOf = async (act: () => unknown): Promise<string> => {
  try {
    await act()
    return "ok"
  } catch (cause) {
    if (cause instanceof FileRefusal) return cause.code
    throw cause
  }
}

export async function* pieces(...parts: ReadonlyArray<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? Buffer.from(part) : part
}
