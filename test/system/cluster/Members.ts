/**
 * Several real processes of one cluster on one database and one data folder, and clients that use any process that
 * answers.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type Answer, ServiceProcess } from "../../support/crash/ServiceProcess.ts"

const memberSettings = {
  ATOLL_RUNTIME: "namespace",
  ATOLL_RECONCILE_INTERVAL_MS: "2000",
  ATOLL_SANDBOX_MEMORY_BYTES: String(128 * 1024 * 1024)
}

export class Members {
  readonly all: ReadonlyArray<ServiceProcess>
  readonly sandboxes: Array<string> = []

  private constructor(all: ReadonlyArray<ServiceProcess>) {
    this.all = all
  }

  static async start(count: number, url: string, environment: Readonly<Record<string, string>> = {}) {
    const members = new Members(
      await ServiceProcess.cluster(count, { DATABASE_URL: url, ...memberSettings, ...environment })
    )
    try {
      for (const member of members.all) await member.start()
    } catch (fault) {
      await members.end()
      throw fault
    }
    return members
  }

  /** Services that another part of the test has started, and ends. */
  static of(all: ReadonlyArray<ServiceProcess>): Members {
    return new Members(all)
  }

  /** Running Sandboxes, owned by any process. */
  async makeSandboxes(count: number, networkEnabled = false): Promise<void> {
    const [first] = this.all
    const { body } = await first!.ask("POST", "/workspaces", { name: "cluster" }, "w")
    for (let made = 0; made < count; made++) {
      const request = { workspaceId: body.workspace.id, name: `s${made}`, networkEnabled }
      const answer = await first!.ask("POST", "/sandboxes", request, `s${made}`)
      this.sandboxes.push(answer.body.sandbox.id)
    }
    for (const id of this.sandboxes) await this.untilStatus(first!, id, "running")
  }

  async untilStatus(via: ServiceProcess, sandbox: string, status: string, withinMs = 60_000): Promise<void> {
    const end = Date.now() + withinMs
    let last: Answer | null = null
    while (last?.body.sandbox?.status !== status) {
      if (Date.now() > end) throw new Error(`${sandbox} is no ${status}: ${JSON.stringify(last)}\n${via.log}`)
      await sleep(50)
      last = await via.ask("GET", `/sandboxes/${sandbox}`)
    }
  }

  /**
   * Starts an operation in each Sandbox and waits for its end, all through one process. Returns the slowest duration.
   */
  async everyActorAnswers(via: ServiceProcess, key: string): Promise<number> {
    const times = await Promise.all(
      this.sandboxes.map(async (sandbox) => {
        const began = performance.now()
        const argv = ["sh", "-c", `echo ${key} >> /workspace/starts; echo ${key}`]
        const path = `/sandboxes/${sandbox}/operations`
        const started = await via.ask("POST", path, { argv }, `${key}-${sandbox}`)
        if (started.status !== 202) throw new Error(`${JSON.stringify(started)}\n${via.log}`)
        const { id } = started.body.operation
        let operation = started.body.operation
        while (operation.status !== "completed") {
          const waited = await via.ask("POST", `${path}/${id}/wait`, { timeoutSeconds: 20 })
          if (waited.status !== 200) throw new Error(`${JSON.stringify(waited)}\n${via.log}`)
          operation = waited.body.operation
          if (performance.now() - began > 60_000) throw new Error(`${id} stays ${operation.status}\n${via.log}`)
        }
        return performance.now() - began
      })
    )
    return Math.max(...times)
  }

  /** What each Sandbox noted of the commands that were started in it. */
  async starts(via: ServiceProcess): Promise<ReadonlyArray<ReadonlyArray<string>>> {
    return Promise.all(
      this.sandboxes.map(async (sandbox) => {
        const { bytes } = await via.bytes("GET", `/sandboxes/${sandbox}/files/content?path=/workspace/starts`)
        return bytes.toString().trim().split("\n")
      })
    )
  }

  async end(): Promise<void> {
    try {
      const [first] = this.all
      for (const member of this.all) member.thaw()
      if (this.sandboxes.length > 0) {
        if (!first!.isUp) await first!.start()
        await first!.deleteSandboxes()
      }
    } finally {
      await Promise.all(this.all.map((member) => member.kill()))
      this.all[0]!.remove()
    }
  }
}
