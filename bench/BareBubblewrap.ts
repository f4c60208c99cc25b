/**
 * Bubblewrap and the agent alone, as the namespace driver starts them but without a volume, a separate user, cgroups
 * and records.
 */
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { chmod, mkdir, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { listeningSocket } from "../src/host/linux/listeningSocket.ts"
import { connectUnix } from "../src/host/linux/unixSocket.ts"
import { runTrue } from "../src/host/linux/warm.ts"
import { agentCommand, bubblewrapArguments, Descriptor } from "../src/host/namespace/bubblewrap.ts"
import { HostLayout } from "../src/host/namespace/HostLayout.ts"
import { makeAgentGuest } from "../src/runtime/agentClient/AgentGuest.ts"
import { makeAgentSession } from "../src/runtime/agentClient/AgentSession.ts"

export class BareBubblewrap {
  readonly #folder: string
  readonly #layout: HostLayout

  private constructor(folder: string, layout: HostLayout) {
    this.#folder = folder
    this.#layout = layout
  }

  static async prepare(): Promise<BareBubblewrap> {
    const folder = await mkdtemp(join(tmpdir(), "atoll-bare-"))
    await chmod(folder, 0o755)
    const layout = await HostLayout.prepare(folder)
    await layout.systemFiles()
    return new BareBubblewrap(folder, layout)
  }

  /** From nothing to the end of a first `true`. */
  async toFirstCommand(): Promise<void> {
    const folder = join(this.#folder, randomUUID())
    const [workspace, tmp] = [join(folder, "workspace"), join(folder, "tmp")]
    for (const path of [folder, workspace, tmp]) await mkdir(path)
    const file = join(folder, "arguments")
    await writeFile(
      file,
      bubblewrapArguments({
        image: null,
        generation: 1,
        node: this.#layout.node,
        agent: this.#layout.agent,
        spawner: this.#layout.spawner,
        etc: this.#layout.etc(false),
        workspace,
        hasOwnVolume: false,
        tmp,
        cgroup: null,
        views: [],
        vcpus: 1,
        memoryBytes: 512 * 1024 ** 2,
        seccomp: false,
        networkEnabled: false,
        builds: false,
        inNetwork: false,
        hasTerminals: false
      })
    )
    const socketPath = join(folder, "socket")
    const [list, status] = [await open(file), await open(join(folder, "status"), "w")]
    const socket = await listeningSocket(socketPath)
    const stdio: Array<number | "ignore"> = ["ignore", "ignore", "ignore", "ignore", "ignore", "ignore", "ignore"]
    stdio[Descriptor.listen] = socket.fd
    stdio[Descriptor.arguments] = list.fd
    stdio[Descriptor.status] = status.fd
    const monitor = spawn(
      "bwrap",
      ["--args", String(Descriptor.arguments), "--", ...agentCommand({ image: null, builds: false })],
      {
        stdio
      }
    )
    const ended = new Promise((resolve) => monitor.once("exit", resolve))
    socket.release()
    await Promise.all([list.close(), status.close()])
    const session = makeAgentSession({ connect: () => connectUnix(socketPath) })
    try {
      await Effect.runPromise(runTrue(makeAgentGuest(session)))
    } finally {
      session.close()
      // PID 1 of the namespace, which ends with it; bwrap itself would leave it behind.
      const [, init] = /"child-pid": (\d+)/.exec(await readFile(join(folder, "status"), "utf8")) ?? []
      process.kill(init === undefined ? monitor.pid! : Number(init), "SIGKILL")
      await ended
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    }
  }

  async remove(): Promise<void> {
    await this.#layout.release(() => true, false)
    await rm(this.#folder, { recursive: true, force: true })
  }
}
