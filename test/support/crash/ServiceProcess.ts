/**
 * The real service as a separate process group on one data folder, with the embedded Postgres: started, killed,
 * restarted.
 */
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { type Agent, type IncomingMessage, request } from "node:http"
import { request as requestOverTls } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { newSecret } from "../../../src/account/ApiKeySecret.ts"
import { HostLayout } from "../../../src/host/namespace/HostLayout.ts"
import { bundledOnce } from "../bundledOnce.ts"
import { freePort } from "../freePort.ts"
import { unmountPools } from "../host/namespace/unmountPools.ts"
import { Program } from "../Program.ts"
import { signalPid } from "../signalPid.ts"

const root = join(import.meta.dirname, "../../..")
const main = "src/main.ts"
const startWithinMs = 60_000
const deletedWithinMs = 90_000

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any
}

/** Where a service runs, if not beside the test. */
export interface Place {
  readonly address: string
  readonly address6: string
  /** Words before a command that is to run there. */
  readonly enter: ReadonlyArray<string>
}

const here: Place = { address: "127.0.0.1", address6: "::1", enter: [] }

export class ServiceProcess extends Program {
  /** Unique to this run: the arguments of all its processes contain it. */
  readonly dataDir: string
  readonly port: number
  readonly #key: string
  readonly #environment: Readonly<Record<string, string>>
  readonly #place: Place

  private constructor(
    port: number,
    environment: Readonly<Record<string, string>>,
    { dataDir, key, place }: Pick<ServiceProcess, "dataDir" | "key"> & { readonly place: Place }
  ) {
    super()
    this.port = port
    this.dataDir = dataDir
    this.#key = key
    this.#place = place
    this.#environment = environment
    // As root, the database and the Sandboxes are other users.
    chmodSync(dataDir, 0o755)
  }

  static #onItsOwn() {
    return { dataDir: mkdtempSync(join(tmpdir(), "atoll-crash-")), key: newSecret(), place: here }
  }

  /** @param environment Beside the settings of every test. */
  static async make(environment: Readonly<Record<string, string>> = {}) {
    return new ServiceProcess(await freePort(), environment, ServiceProcess.#onItsOwn())
  }

  /** Processes of one cluster, on one data folder. */
  static async cluster(count: number, environment: Readonly<Record<string, string>>) {
    const members: Array<ServiceProcess> = []
    const shared = ServiceProcess.#onItsOwn()
    for (let made = 0; made < count; made++) {
      const own = { ...environment, ATOLL_CLUSTER_PORT: String(await freePort()) }
      members.push(new ServiceProcess(await freePort(), own, shared))
    }
    return members
  }

  /** A service of a fleet, in its own network namespace, on an existing folder. */
  static at(place: Place, port: number, dataDir: string, key: string, environment: Readonly<Record<string, string>>) {
    return new ServiceProcess(port, { ATOLL_HOST: place.address, ...environment }, { dataDir, key, place })
  }

  /** Returns once it answers. `source`: of another version. */
  async start(
    answers = "/api/v2/me",
    environment: Readonly<Record<string, string>> = {},
    source = main
  ): Promise<void> {
    this.spawn([source], { ...this.#settings, ...environment }, this.#place.enter)
    const end = Date.now() + startWithinMs
    while ((await this.#statusOf(answers).catch(() => null)) !== 200) {
      if (this.exitCode !== null) throw new Error(`The service ended with ${this.exitCode}:\n${this.log}`)
      if (Date.now() > end) throw new Error(`The service does not answer:\n${this.log}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** Over HTTPS any certificate is accepted, because the test may replace it. */
  async #statusOf(path: string): Promise<number> {
    const asked = ("ATOLL_TLS_CERT_FILE" in this.#environment ? requestOverTls : request)({
      host: this.host,
      port: this.port,
      path,
      agent: false,
      rejectUnauthorized: false,
      headers: { authorization: `Bearer ${this.#key}` },
      signal: AbortSignal.timeout(2000)
    })
    asked.end()
    const [answer] = (await once(asked, "response")) as [IncomingMessage]
    answer.resume()
    return answer.statusCode ?? 0
  }

  get #settings(): Readonly<Record<string, string>> {
    return {
      ATOLL_DATA_DIR: this.dataDir,
      ATOLL_PORT: String(this.port),
      ATOLL_RUNTIME: "namespace",
      ATOLL_LOG_LEVEL: "warn",
      ATOLL_BOOTSTRAP_API_KEY: this.#key,
      ATOLL_VOLUME_BYTES: String(32 * 1024 * 1024),
      ATOLL_RECONCILE_INTERVAL_MS: "2000",
      ...this.#environment
    }
  }

  /** Of full scope. */
  get key() {
    return this.#key
  }

  /** Of actor messages. */
  get clusterPort() {
    return Number(this.#environment["ATOLL_CLUSTER_PORT"])
  }

  get host() {
    return this.#place.address
  }

  /** Its IPv6 address, if it listens on one. */
  get host6() {
    return this.#place.address6
  }

  get origin() {
    return `http://${this.host}:${this.port}`
  }

  /** Throws when the service is cut off before it answers. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    idempotencyKey?: string,
    key: string = this.#key,
    withinMs = 40_000
  ): Promise<Answer> {
    const answer = await fetch(`${this.origin}/api/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(withinMs)
    })
    const text = await answer.text()
    return { status: answer.status, body: text === "" ? null : JSON.parse(text) }
  }

  /** The same over a separate agent's connection, kept open between requests like a client's. */
  async askOver(agent: Agent, method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<Answer> {
    const text = body === undefined ? "" : JSON.stringify(body)
    const sent = request({
      agent,
      host: this.#place.address,
      port: this.port,
      method,
      path: `/api/v2${path}`,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey })
      },
      signal: AbortSignal.timeout(40_000)
    })
    sent.end(text)
    const [answer] = (await once(sent, "response")) as [IncomingMessage]
    const received = Buffer.concat(await answer.toArray()).toString()
    return { status: answer.statusCode ?? 0, body: received === "" ? null : JSON.parse(received) }
  }

  /** File content in or out. Throws when the service is cut off before it answers. */
  async bytes(
    method: "GET" | "PUT",
    path: string,
    content?: Uint8Array<ArrayBuffer>,
    withinMs = 40_000
  ): Promise<{ readonly status: number; readonly bytes: Buffer }> {
    const answer = await fetch(`${this.origin}/api/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/octet-stream" },
      ...(content === undefined ? {} : { body: content }),
      signal: AbortSignal.timeout(withinMs)
    })
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
  }

  /** Sandboxes outlive their service: deletes those of the account of `key`, and waits until none of them is left. */
  async deleteSandboxes(withinMs = deletedWithinMs): Promise<void> {
    const end = Date.now() + withinMs
    let last: unknown = null
    while (Date.now() < end) {
      // A process that was just thawed, or lost its database, gets the request again.
      const listed = await this.ask("GET", "/sandboxes?limit=1000").catch((fault: unknown) => ({
        status: 0,
        body: fault
      }))
      last = listed
      if (listed.status === 200) {
        const all: ReadonlyArray<{ readonly id: string; readonly status: string }> = listed.body.sandboxes
        const left = all.filter(({ status }) => status !== "deleted" && status !== "expired")
        if (left.length === 0) return
        last = left
        await Promise.all(left.map(({ id }) => this.ask("DELETE", `/sandboxes/${id}`).catch(() => null)))
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error(`Sandboxes are left: ${JSON.stringify(last)}\n${this.log}`)
  }

  /** kill -9 of the postmaster of this data folder. */
  killPostgres(): void {
    for (const { pid, command } of processes()) {
      if (command.includes(this.dataDir) && /postgres/.test(command.split(" ")[0]!)) signalPid(pid, "SIGKILL")
    }
  }

  /**
   * Processes and mounts that still name the data folder, or belong to its Sandboxes. One that has ended and was not
   * reaped yet has no arguments.
   */
  get leftovers(): ReadonlyArray<string> {
    const { instance } = HostLayout.at(this.dataDir)
    const isOf = (text: string) => text.includes(this.dataDir) || text.includes(`/${instance}/`)
    const alive = processes().filter(({ command }) => command !== "")
    const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n")
    return [
      ...alive.flatMap(({ pid, command, cgroup }) => (isOf(command) || isOf(cgroup) ? [`${pid} ${command}`] : [])),
      ...mounts.filter(isOf)
    ]
  }

  /** With the Sandboxes that a failed test left: their mounts would hold the removed folder for ever. */
  remove(): void {
    const { instance } = HostLayout.at(this.dataDir)
    const isLeft = this.#place === here && readFileSync("/proc/self/mounts", "utf8").includes(`/${instance}/`)
    if (isLeft) {
      const env = { PATH: process.env["PATH"], ...bundledOnce, ...this.#settings }
      const { status, stderr } = spawnSync(process.execPath, ["src/cli/main.ts", "down", "--purge", "--yes"], {
        cwd: root,
        env
      })
      if (status !== 0) throw new Error(`Sandboxes are left: ${stderr}`)
    }
    unmountPools(this.dataDir)
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}

/** Every process of this host with its parent, its arguments and its cgroups. */
export const processes = () =>
  readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1")
      return [
        {
          pid: Number(name),
          parent: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]),
          command: readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim(),
          cgroup: readFileSync(`/proc/${name}/cgroup`, "latin1")
        }
      ]
    } catch {
      return []
    }
  })
