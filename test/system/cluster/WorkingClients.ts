/** Clients that work all the time, each over connections that it keeps open, at any process that answers. */
import { Agent } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { Answer } from "../../support/crash/ServiceProcess.ts"
import type { Members } from "./Members.ts"

export interface Patience {
  /** How often a request is sent, to one process after the other. */
  readonly tries: number
  readonly pauseMs: number
}

/** Longer than a lone process drains. */
const executeSeconds = 2

const isServed = ({ status }: Answer) => status < 500

export class WorkingClients {
  readonly faults: Array<string> = []
  /** By key: the operations that were acknowledged. */
  readonly acknowledged = new Map<string, { readonly path: string }>()
  /** Keys of executes that were answered. */
  readonly executed = new Set<string>()
  readonly #members: Members
  readonly #patience: Patience
  #isOver = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(members: Members, patience: Patience) {
    this.#members = members
    this.#patience = patience
  }

  /**
   * @param executing Additional clients that run one command after the other, each longer than most, and wait for it.
   */
  start(count: number, executing = 0): void {
    this.#running = Promise.all([
      ...Array.from({ length: count }, (_, client) => this.#work(client)),
      ...Array.from({ length: executing }, (_, client) => this.#execute(client))
    ])
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  /** A client's own connections, and what requests over them at one process after the other. */
  #asking(client: number) {
    const { all } = this.#members
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
    return { ask, end: () => agents.forEach((agent) => agent.destroy()) }
  }

  async #execute(client: number): Promise<void> {
    const { sandboxes } = this.#members
    const { ask, end } = this.#asking(client)
    for (let turn = 0; !this.#isOver; turn++) {
      const key = `e${client}t${turn}`
      const argv = ["sh", "-c", `echo ${key} >> /workspace/starts; sleep ${executeSeconds}; echo ${key}`]
      const answer = await ask("POST", `/sandboxes/${sandboxes[turn % sandboxes.length]}/execute`, { argv })
      if (answer === null) continue
      if (answer.body.result?.stdout !== `${key}\n`) this.faults.push(`${key}: ${JSON.stringify(answer)}`)
      this.executed.add(key)
    }
    end()
  }

  async #work(client: number): Promise<void> {
    const { sandboxes } = this.#members
    const { ask, end } = this.#asking(client)
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
    end()
  }

  /**
   * Every acknowledged operation has ended once, with all its output; no command ran twice. Returns the number of
   * operations.
   */
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
    for (const key of [...this.acknowledged.keys(), ...this.executed]) {
      if (!ran.has(key)) this.faults.push(`${key} never ran`)
    }
    return this.acknowledged.size
  }
}
