/**
 * Waves of commands that write, and a `kill -9` in the middle of each wave: of the database's server, of one of its
 * backends (the server then restarts and has lost what it had not flushed), or of the service.
 * Every command writes lines of eight bytes that count up, to both streams, so each byte is known by its offset. All
 * output that a client could read must still be there when the operation is reported as completed, and it must be
 * complete.
 */
import { setTimeout as sleep } from "node:timers/promises"
import fc from "fast-check"
import { expectedBytes } from "./expectedBytes.ts"
import { processes, type ServiceProcess } from "./ServiceProcess.ts"

const lineBytes = 8
const pageBytes = 262_144
const settleWithinMs = 90_000
const sandboxes = 2
const cutOff = /fetch failed|terminated|socket|ECONN|JSON|aborted|timeout/i

interface Writer {
  readonly parts: ReadonlyArray<{
    readonly stream: "stdout" | "stderr"
    readonly lines: number
    readonly sleepMs: number
  }>
}

type Victim = "server" | "backend" | "service"

interface Wave {
  readonly writers: ReadonlyArray<Writer>
  readonly victim: Victim
  /** After the first output arrived. */
  readonly killAfterMs: number
}

const writer: fc.Arbitrary<Writer> = fc.record({
  parts: fc.array(
    fc.record({
      stream: fc.constantFrom("stdout" as const, "stdout" as const, "stderr" as const),
      lines: fc.constantFrom(1, 2, 7, 300, 9000),
      sleepMs: fc.constantFrom(0, 10, 40, 120)
    }),
    { minLength: 2, maxLength: 8 }
  )
})

export const waves = (seed: number, operations: number, perWave: number): ReadonlyArray<Wave> =>
  fc.sample(
    fc.record({
      writers: fc.array(writer, { minLength: perWave, maxLength: perWave }),
      victim: fc.constantFrom<Victim>("server", "backend", "backend", "service"),
      killAfterMs: fc.integer({ min: 0, max: 145 })
    }),
    { seed, numRuns: Math.ceil(operations / perWave) }
  )

const script = ({ parts }: Writer) => {
  const next = { stdout: 0, stderr: 0 }
  return parts
    .map(({ stream, lines, sleepMs }) => {
      const first = next[stream]
      next[stream] += lines
      const write = `seq -f %07.0f ${first} ${first + lines - 1}${stream === "stderr" ? " >&2" : ""}`
      return sleepMs === 0 ? write : `${write}; sleep ${sleepMs / 1000}`
    })
    .join("; ")
}

const written = ({ parts }: Writer, stream: "stdout" | "stderr") =>
  parts.reduce((sum, part) => sum + (part.stream === stream ? part.lines * lineBytes : 0), 0)

export class OutputStorm {
  readonly faults: Array<string> = []
  readonly kills: Record<Victim, number> = { server: 0, backend: 0, service: 0 }
  completed = 0
  readonly #service: ServiceProcess
  readonly #sandboxes: Array<string> = []
  #started = 0

  constructor(service: ServiceProcess) {
    this.#service = service
  }

  async begin() {
    const { body } = await this.#ask("POST", "/workspaces", 201, { name: "storm" }, "w")
    for (let index = 0; index < sandboxes; index++) {
      const request = { workspaceId: body.workspace.id, networkEnabled: false }
      const { body: made } = await this.#ask("POST", "/sandboxes", 202, request, `s${index}`)
      this.#sandboxes.push(made.sandbox.id)
      await this.#ask("POST", `/sandboxes/${made.sandbox.id}/start`, 201)
    }
  }

  /** All commands of a wave concurrently, one kill, and a check of every byte that each of them wrote. */
  async run({ writers, victim, killAfterMs }: Wave) {
    const firstOutput = Promise.withResolvers<void>()
    const following = Promise.all(writers.map((one) => this.#follow(one, () => firstOutput.resolve())))
    await Promise.race([firstOutput.promise, following])
    await sleep(killAfterMs)
    await this.#kill(victim)
    await following
  }

  async end() {
    for (const id of this.#sandboxes) await this.#ask("DELETE", `/sandboxes/${id}`, 204)
  }

  async #kill(victim: Victim) {
    this.kills[victim]++
    if (victim === "service") {
      await this.#service.kill()
      await this.#service.start()
    } else if (victim === "server") this.#service.killPostgres()
    else {
      const server = processes().find(
        ({ command }) => command.includes(this.#service.dataDir) && /postgres$/.test(command.split(" ")[0]!)
      )
      const backend = processes().find(({ parent, command }) => parent === server?.pid && /wal ?writer/.test(command))
      if (backend !== undefined) process.kill(backend.pid, "SIGKILL")
    }
  }

  /** Repeats the request until it gets this answer: a client that is cut off retries. */
  async #ask(method: string, path: string, status: number, body?: unknown, key?: string) {
    const end = Date.now() + settleWithinMs
    while (true) {
      const answer = await this.#service.ask(method, path, body, key).catch((error: unknown) => {
        if (!cutOff.test(String(error))) throw error
        return null
      })
      if (answer?.status === status) return answer
      if (Date.now() > end) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
      await sleep(50)
    }
  }

  async #follow(one: Writer, onOutput: () => void) {
    const key = `o${this.#started++}`
    const sandbox = `/sandboxes/${this.#sandboxes[this.#started % sandboxes]}`
    const { body } = await this.#ask("POST", `${sandbox}/operations`, 202, { argv: ["sh", "-c", script(one)] }, key)
    const path = `${sandbox}/operations/${body.operation.id}`
    const readable = { stdout: 0, stderr: 0 }
    const end = Date.now() + settleWithinMs
    while (true) {
      const { operation } = (
        await this.#ask("POST", `${path}/wait`, 200, {
          timeoutSeconds: 2,
          stdoutOffset: readable.stdout,
          stderrOffset: readable.stderr
        })
      ).body
      for (const stream of ["stdout", "stderr"] as const) {
        readable[stream] = Math.max(readable[stream], operation.output[`${stream}Bytes`])
        if (readable[stream] > 0) onOutput()
      }
      if (["completed", "failed", "cancelled"].includes(operation.status)) {
        if (operation.status !== "completed" || operation.exitCode !== 0) {
          this.faults.push(`${key} is ${operation.status} ${operation.exitCode} ${JSON.stringify(operation.reason)}`)
          return
        }
        this.completed++
        break
      }
      if (Date.now() > end) return void this.faults.push(`${key} does not end: ${JSON.stringify(operation)}`)
    }
    for (const stream of ["stdout", "stderr"] as const) await this.#compare(key, path, stream, written(one, stream))
  }

  async #compare(key: string, path: string, stream: string, length: number) {
    let offset = 0
    while (true) {
      const query = `stream=${stream}&offset=${offset}&limit=${pageBytes}`
      const { body } = await this.#ask("GET", `${path}/output?${query}`, 200)
      const bytes = Buffer.from(body.data, "base64")
      const isExact = body.offset === offset && !body.truncated && bytes.equals(expectedBytes(offset, bytes.length))
      offset = body.nextOffset
      if (isExact && body.eof && offset === length) return
      if (!isExact || body.eof || bytes.length === 0) {
        const { data: _data, ...page } = body
        return void this.faults.push(`${key} ${stream}: ${length} bytes were written, ${JSON.stringify(page)}`)
      }
    }
  }
}
