/** A volume that is a plain folder, as a stream of tar. @source tar(1) */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { HOST_ENVIRONMENT } from "../host/linux/hostCommand.ts"

/** tar's exit code when what it read was changed or removed meanwhile. */
const CHANGED = 1

/** `ended` resolves with false when that happened. */
const run = (args: ReadonlyArray<string>) => {
  const child = spawn("tar", args, { cwd: "/", env: HOST_ENVIRONMENT, stdio: ["pipe", "pipe", "pipe"] })
  let said = ""
  child.stderr.on("data", (chunk) => {
    if (said.length < 1000) said += chunk
  })
  child.stdin.on("error", () => {})
  const ended = once(child, "close").then(([code]) => {
    if (code !== 0 && code !== CHANGED) throw new Error(`tar: ${said.trim()}`)
    return code === 0
  })
  // Told to whoever waits for it.
  ended.catch(() => {})
  return { child, ended }
}

/**
 * The folder `name` of `parent`, with all that is in it: each file as it is when it is read.
 *
 * @returns Whether nothing was seen to change meanwhile.
 */
export const readTree = async (
  parent: string,
  name: string,
  take: (bytes: Buffer) => Promise<void>
): Promise<boolean> => {
  const { child, ended } = run(["--create", "--sparse", "--numeric-owner", "--file=-", `--directory=${parent}`, name])
  child.stdin.end()
  try {
    for await (const chunk of child.stdout) await take(chunk)
    return await ended
  } finally {
    child.kill()
  }
}

/** Takes such a stream, and makes the folder again in another parent. */
export class TreeWriter {
  private readonly tar: ReturnType<typeof run>

  constructor(parent: string) {
    this.tar = run(["--extract", "--preserve-permissions", "--numeric-owner", "--file=-", `--directory=${parent}`])
  }

  async put(bytes: Uint8Array): Promise<void> {
    const { stdin } = this.tar.child
    if (!stdin.write(bytes)) await Promise.race([once(stdin, "drain"), this.tar.ended])
  }

  async close(): Promise<void> {
    this.tar.child.stdin.end()
    if (!(await this.tar.ended)) throw new Error("tar: not all of it could be made")
  }
}
