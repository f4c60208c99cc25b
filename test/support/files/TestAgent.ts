/** A real agent process over a unix socket, with a plain directory as its /workspace. */
import { type ChildProcess, spawn } from "node:child_process"
import fs from "node:fs"
import net from "node:net"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { makeAgentFiles } from "../../../src/runtime/agentClient/AgentFiles.ts"
import { type AgentSession, makeAgentSession } from "../../../src/runtime/agentClient/AgentSession.ts"

const entry = fileURLToPath(new URL("../../../src/agent/main.ts", import.meta.url))

export class TestAgent {
  /** Tunnelled connections travel in it. */
  readonly session: AgentSession
  /** Tunnelled connections have their own sockets. */
  readonly plainSession: AgentSession
  readonly socketPath: string
  readonly files: ReturnType<typeof makeAgentFiles>
  readonly #child: ChildProcess
  readonly #connections = new Set<net.Socket>()

  private constructor(child: ChildProcess, socket: string) {
    this.#child = child
    this.socketPath = socket
    const connect = (onread?: net.OnReadOpts) =>
      new Promise<net.Socket>((resolve, reject) => {
        const to = { path: socket, ...(onread === undefined ? {} : { onread }) }
        const connection = net.connect(to, () => resolve(connection)).on("error", reject)
        this.#connections.add(connection)
      })
    this.session = makeAgentSession({ idleMs: null, connect: () => connect() })
    this.plainSession = makeAgentSession({ idleMs: null, connect: () => connect(), connectPlain: connect })
    this.files = makeAgentFiles(this.session)
  }

  /** `base` holds the socket and `workspace/`. */
  static async start(base: string): Promise<TestAgent> {
    const socket = path.join(base, "agent.sock")
    fs.rmSync(socket, { force: true })
    fs.mkdirSync(path.join(base, "run"), { recursive: true })
    const child = spawn(process.execPath, ["--no-warnings", entry], {
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        ATOLL_AGENT_LISTEN: `unix:${socket}`,
        ATOLL_AGENT_GENERATION: "1",
        ATOLL_AGENT_RUN_DIR: path.join(base, "run"),
        ATOLL_AGENT_WORKSPACE: path.join(base, "workspace")
      }
    })
    await new Promise<void>((resolve, reject) => {
      child.stdout!.once("data", () => resolve())
      child.once("exit", (code) => reject(new Error(`The agent exited with ${code}`)))
    })
    return new TestAgent(child, socket)
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Looks to the agent like a lost service. */
  cutConnections(): void {
    for (const connection of this.#connections) connection.destroy()
    this.#connections.clear()
  }

  async kill(): Promise<void> {
    this.cutConnections()
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = new Promise((resolve) => this.#child.once("exit", resolve))
    this.#child.kill("SIGKILL")
    await gone
  }
}
