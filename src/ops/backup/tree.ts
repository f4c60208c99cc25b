/** Packs a volume that is a plain folder as a tar stream, and unpacks it. @source tar(1) */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { HOST_ENVIRONMENT } from "../../host/linux/hostCommand.ts"

/** tar's exit code when files changed or vanished while it read them. */
const CHANGED = 1

/** `ended` resolves with false in that case. */
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
  // The error is reported to the caller that awaits it.
  ended.catch(() => {})
  return { child, ended }
}

/**
 * Reads the folder `name` of `parent` with all its content: each file as it is at the time of its reading.
 *
 * @returns Whether tar saw no change meanwhile.
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

/** Unpacks such a stream into another parent folder. */
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
