/** Clients that work all the time, each over connections that it keeps open, at whichever process answers. */
import { Agent } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { Answer } from "../crash/ServiceProcess.ts"
import type { Members } from "./Members.ts"

export interface Patience {
  /** How often a request is sent, at one process after the other. */
  readonly tries: number
  readonly pauseMs: number
}

const isServed = ({ status }: Answer) => status < 500

export class WorkingClients {
  readonly faults: Array<string> = []
  /** By key: the operations that were acknowledged. */
  readonly acknowledged = new Map<string, { readonly path: string }>()
  readonly #members: Members
  readonly #patience: Patience
  #isOver = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(members: Members, patience: Patience) {
    this.#members = members
    this.#patience = patience
  }

  start(count: number): void {
    this.#running = Promise.all(Array.from({ length: count }, (_, client) => this.#work(client)))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #work(client: number): Promise<void> {
    const { all, sandboxes } = this.#members
    const agents = all.map(() => new Agent({ keepAlive: true, maxSockets: 1 }))
    const ask = async (method: string, path: string, body?: unknown, key?: string): Promise<Answer | null> => {
      const said: Array<string> = []
      for (let tried = 0; tried < this.#patience.tries; tried++) {
        const at = (client + tried) % all.length
        try {
          const answer = await all[at]!.askOver(agents[at]!, method, path, body, key)
          if (isServed(answer)) return answer
          said.push(`${at}: ${answer.status} ${JSON.stringify(answer.body)}`)
        } catch (error) {
          said.push(`${at}: ${String(error)}`)
        }
        if (tried > 0) await sleep(this.#patience.pauseMs)
      }
      this.faults.push(`${method} ${path}: ${said.join("; ")}`)
      return null
    }
    for (let turn = 0; !this.#isOver; turn++) {
      const sandbox = sandboxes[(client + turn) % sandboxes.length]!
      const key = `c${client}t${turn}`
      const argv = ["sh", "-c", `echo ${key} >> /workspace/starts; seq 1 200`]
      const made = await ask("POST", `/sandboxes/${sandbox}/operations`, { argv }, key)
      if (made?.status === 202) {
        const path = `/sandboxes/${sandbox}/operations/${made.body.operation.id}`
        this.acknowledged.set(key, { path })
        await ask("POST", `${path}/wait`, { timeoutSeconds: 5 })
      } else if (made !== null) this.faults.push(`${key}: ${made.status} ${JSON.stringify(made.body)}`)
      const got = await ask("GET", `/sandboxes/${sandbox}`)
      if (got !== null && got.body.sandbox.status !== "running")
        this.faults.push(`${sandbox}: ${JSON.stringify(got.body)}`)
    }
    for (const agent of agents) agent.destroy()
  }

  /** Every acknowledged operation has ended once, with all its output; no command ran twice. Returns how many there were. */
  async check(): Promise<number> {
    const via = this.#members.all[0]!
    const expected = `${Array.from({ length: 200 }, (_, at) => at + 1).join("\n")}\n`
    for (const [key, { path }] of this.acknowledged) {
      const end = Date.now() + 30_000
      let operation = { status: "" }
      while (operation.status !== "completed" && Date.now() < end) {
        const { body } = await via.ask("POST", `${path}/wait`, { timeoutSeconds: 5 })
        operation = body.operation
        if (["failed", "cancelled"].includes(operation.status)) break
      }
      if (operation.status !== "completed") {
        this.faults.push(`${key} ended as ${JSON.stringify(operation)}`)
        continue
      }
      const { body } = await via.ask("GET", `${path}/output?stream=stdout&offset=0`)
      if (Buffer.from(body.data, "base64").toString() !== expected) this.faults.push(`${key} has other output`)
    }
    const ran = new Set<string>()
    for (const starts of await this.#members.starts(via)) {
      for (const [at, key] of starts.entries()) {
        if (starts.indexOf(key) !== at) this.faults.push(`${key} ran twice`)
        ran.add(key)
      }
    }
    for (const key of this.acknowledged.keys()) if (!ran.has(key)) this.faults.push(`${key} never ran`)
    return this.acknowledged.size
  }
}
