/**
 * Advisory locks of the operating system on a file, by util-linux `flock`.
 *
 * The lock belongs to the open file, which this process shares with the short-lived `flock` child. It is held until the file is closed or the process
 * dies, even by `kill -9`. Node has no call for it.
 *
 * @source flock(2), flock(1)
 */
import { spawn } from "node:child_process"
import { type FileHandle, open } from "node:fs/promises"

/** Runs `flock` on an open file. True when the lock was acquired within `waitSeconds` (0: without waiting). */
const flock = (file: FileHandle, mode: "shared" | "exclusive", waitSeconds: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const child = spawn("flock", [`--${mode}`, "--wait", String(waitSeconds), "3"], {
      stdio: ["ignore", "ignore", "ignore", file.fd],
      cwd: "/"
    })
    child.once("error", (cause) =>
      reject(new Error(`the program flock cannot be run: apt-get install util-linux (${cause.message})`))
    )
    child.once("exit", (code) => resolve(code === 0))
  })

/** A file whose lock may be acquired, shared or exclusive; `close` releases it. Acquiring it again changes its mode. */
export class FileLock {
  readonly #file: FileHandle

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(path: string): Promise<FileLock> {
    return new FileLock(await open(path, "a", 0o600))
  }

  shared(waitSeconds: number): Promise<boolean> {
    return flock(this.#file, "shared", waitSeconds)
  }

  exclusive(waitSeconds: number): Promise<boolean> {
    return flock(this.#file, "exclusive", waitSeconds)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
