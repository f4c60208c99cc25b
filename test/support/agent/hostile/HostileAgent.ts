/** A hostile agent in a separate process, and the service's guest over it. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { makeAgentGuest } from "../../../../src/runtime/agentClient/AgentGuest.ts"
import { type AgentSession, makeAgentSession } from "../../../../src/runtime/agentClient/AgentSession.ts"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import type { Script } from "./script.ts"

const entry = fileURLToPath(new URL("main.ts", import.meta.url))

export class HostileAgent {
  readonly session: AgentSession
  readonly guest: Guest
  readonly #folder: string
  readonly #child: ChildProcess
  /** The service's last connection to it. */
  connection: Socket | null = null

  private constructor(child: ChildProcess, folder: string, waiting: number) {
    this.#child = child
    this.#folder = folder
    this.session = makeAgentSession({
      connect: () =>
        new Promise((resolve, reject) => {
          const socket = connect(join(folder, "socket"), () => resolve(socket)).on("error", reject)
          this.connection = socket
        }),
      waiting
    })
    this.guest = makeAgentGuest(this.session)
  }

  /** `waiting`: the part of the usual time-outs that the service waits for it. */
  static async start(waiting = 0.01): Promise<HostileAgent> {
    const folder = mkdtempSync(join(tmpdir(), "atoll-hostile-"))
    const child = fork(entry, [join(folder, "socket")], { execArgv: ["--no-warnings"] })
    await once(child, "message")
    return new HostileAgent(child, folder, waiting)
  }

  /** From now on it runs this script at every request. */
  async play(script: Script): Promise<void> {
    this.#child.send(script)
    await once(this.#child, "message")
  }

  /** It is frozen, as if the machine around it were. */
  freeze(): void {
    this.#child.kill("SIGSTOP")
  }

  async end(): Promise<void> {
    this.session.close()
    if (this.#child.signalCode !== null) return
    const gone = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await gone
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
