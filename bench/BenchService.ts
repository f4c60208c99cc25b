/** The real service as a child process on a fresh data folder, measured from outside as a client sees it. */
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../test/support/freePort.ts"

export interface BenchServiceOptions {
  /** The folder of the version that is started; by default this one's. */
  readonly sources?: string
  /** Its database is left unchanged at its end. */
  readonly leavesSandboxes?: boolean
}

/** BENCH_NODE_FLAGS: for a profile (`--cpu-prof`), or to compare settings of V8. */
const nodeFlags = (process.env["BENCH_NODE_FLAGS"] ?? "").split(" ").filter((flag) => flag !== "")

const { startEnvironment } = (await import(new URL("../scripts/startEnvironment.mjs", import.meta.url).href)) as {
  readonly startEnvironment: (sources: string) => Readonly<Record<string, string>>
}

/** Of versions before 2026-11-30. */
const beforeEntry = "src/main.ts"

/** A full-scope key of an account. */
export const newKey = () => `atoll_live_${randomBytes(32).toString("hex").slice(0, 43)}`

export class BenchService {
  #child: ChildProcess
  readonly #startChild: () => ChildProcess
  readonly #folder: string
  readonly #key: string
  readonly #agent = new Agent({ keepAlive: true })
  readonly base: string

  private constructor(startChild: () => ChildProcess, folder: string, key: string, port: number) {
    this.#startChild = startChild
    this.#child = startChild()
    this.#folder = folder
    this.#key = key
    this.base = `http://127.0.0.1:${port}/api/v2`
  }

  private static async start(environment: Readonly<Record<string, string>>, sources: string): Promise<BenchService> {
    const folder = await mkdtemp(join(tmpdir(), "atoll-bench-"))
    await chmod(folder, 0o711)
    const port = await freePort()
    const key = environment["ATOLL_BOOTSTRAP_API_KEY"] ?? newKey()
    const entry = ["src/main.mjs", beforeEntry].find((path) => existsSync(join(sources, path)))!
    const startChild = () =>
      spawn(process.execPath, [...nodeFlags, entry], {
        cwd: sources,
        env: {
          ...startEnvironment(sources),
          ...process.env,
          ATOLL_DATA_DIR: join(folder, "data"),
          ATOLL_PORT: String(port),
          ATOLL_BOOTSTRAP_API_KEY: key,
          ATOLL_LOG_LEVEL: "warn",
          ...environment
        },
        stdio: ["ignore", "ignore", "inherit"]
      })
    const service = new BenchService(startChild, folder, key, port)
    await service.#firstAnswer(50)
    return service
  }

  async #firstAnswer(lookEveryMs: number): Promise<void> {
    const giveUpAt = Date.now() + 180_000
    while (Date.now() < giveUpAt) {
      if (this.#child.exitCode !== null) throw new Error(`The service ended with ${this.#child.exitCode}`)
      const answer = await fetch(`${this.base}/openapi.json`).catch(() => null)
      if (answer?.ok) return
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
    }
    this.#child.kill()
    throw new Error("The service did not answer within 180 s")
  }

  /** Runs a benchmark on a separate service, and ends that service after a failure, too. */
  static async use<A>(
    environment: Readonly<Record<string, string>>,
    run: (service: BenchService) => Promise<A>,
    { sources = join(import.meta.dirname, ".."), leavesSandboxes = false }: BenchServiceOptions = {}
  ): Promise<A> {
    const service = await BenchService.start(environment, sources)
    try {
      return await run(service)
    } finally {
      await service.#stop(leavesSandboxes)
    }
  }

  /** Where its embedded Postgres listens. */
  get databaseSocketFolder(): string {
    return join(this.#folder, "data", "postgres", "socket")
  }

  get headers() {
    return { authorization: `Bearer ${this.#key}` }
  }

  /** By node:http: `fetch` takes four times its processor time, which is a fifth of a short call. */
  call<A = unknown>(method: string, path: string, body?: unknown): Promise<A> {
    const bytes = body === undefined ? "" : JSON.stringify(body)
    const headers = {
      ...this.headers,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(bytes),
      "idempotency-key": randomBytes(8).toString("hex")
    }
    return new Promise((resolve, reject) => {
      const asked = request(`${this.base}${path}`, { method, agent: this.#agent, headers }, (answer) => {
        let text = ""
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part
        })
        answer.once("error", reject).once("end", () => {
          const { statusCode = 0 } = answer
          if (statusCode >= 300) return reject(new Error(`${method} ${path}: ${statusCode} ${text}`))
          resolve((text === "" ? null : JSON.parse(text)) as A)
        })
      })
      asked.once("error", reject).end(bytes)
    })
  }

  /** A new running Sandbox. @param more Further fields of its create. */
  async sandbox(workspaceId: string, more: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { sandbox } = await this.call<{ sandbox: { id: string } }>("POST", "/sandboxes", {
      workspaceId,
      networkEnabled: false,
      ...more
    })
    while (true) {
      const now = await this.call<{ sandbox: { status: string; statusReason: unknown } }>(
        "GET",
        `/sandboxes/${sandbox.id}`
      )
      if (now.sandbox.status === "running") return sandbox.id
      if (now.sandbox.status !== "pending") throw new Error(JSON.stringify(now.sandbox))
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  async workspace(): Promise<string> {
    return (await this.call<{ workspace: { id: string } }>("POST", "/workspaces", { name: "bench" })).workspace.id
  }

  /** Resident bytes of the service's process. */
  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8")
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) * 1024
  }

  /** CPU seconds that the service's process has used. */
  async cpuSeconds(): Promise<number> {
    const fields = (await readFile(`/proc/${this.#child.pid}/stat`, "utf8")).split(") ")[1]!.split(" ")
    return (Number(fields[11]) + Number(fields[12])) / 100
  }

  /** Eight at a time: a benchmark may have a thousand. */
  async deleteSandboxes(): Promise<void> {
    const { sandboxes } = await this.call<{ sandboxes: ReadonlyArray<{ id: string; status: string }> }>(
      "GET",
      "/sandboxes"
    )
    const left = sandboxes.filter(({ status }) => status !== "deleted")
    const remove = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop())
        await this.call("DELETE", `/sandboxes/${next.id}`)
    }
    await Promise.all(Array.from({ length: 8 }, remove))
  }

  /** kill -9. */
  async kill(): Promise<void> {
    const ended = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await ended
  }

  /** After `kill`: on the same folder and port. Milliseconds to its first answer. */
  async startAgain(): Promise<number> {
    const began = performance.now()
    this.#child = this.#startChild()
    await this.#firstAnswer(5)
    return performance.now() - began
  }

  /** Ends the service and removes everything it made. */
  async #stop(leavesSandboxes: boolean): Promise<void> {
    const hasEnded = () => this.#child.exitCode !== null || this.#child.signalCode !== null
    if (!leavesSandboxes && !hasEnded()) await this.deleteSandboxes()
    if (!hasEnded()) {
      const ended = once(this.#child, "exit")
      this.#child.kill("SIGTERM")
      await ended
    }
    this.#agent.destroy()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

export const quantile = (values: ReadonlyArray<number>, q: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

/** Milliseconds of each of `times` calls, one after the other. */
export const timed = async (times: number, call: () => Promise<unknown>): Promise<ReadonlyArray<number>> => {
  const took: Array<number> = []
  for (let index = 0; index < times; index++) {
    const before = performance.now()
    await call()
    took.push(performance.now() - before)
  }
  return took
}
