/**
 * Clients of a fleet, the faults of its members meanwhile, and the invariants once all is mended.
 * @source design.md "Hosts"; issue 13 "Fault sweep"
 */
import { setTimeout as sleep } from "node:timers/promises"
import { expectedBytes } from "../../support/crash/expectedBytes.ts"
import type { Fleet } from "../../support/fleet/Fleet.ts"
import { visit } from "../cluster/visit.ts"
import type { Fault, Round, StruckDatabase } from "./Faults.ts"
import { strike } from "./Faults.ts"
import { type KnownOperation, type KnownSandbox, SweepClient } from "./SweepClient.ts"
import { soon } from "./soon.ts"

const lineBytes = 8
const settleWithinMs = 90_000
const lookEveryMs = 250
/** How many of the Sandboxes that ended long ago are read again. */
const rereadMax = 10

interface Seen {
  readonly id: string
  readonly status: string
  readonly generation: number
}

/** Only the database knows it. */
export interface Books {
  /** The faults of any log, reservation or bill; the host of each reservation. */
  readonly faults: () => Promise<ReadonlyArray<string>>
  readonly hostOf: () => Promise<ReadonlyMap<string, string>>
  readonly database: StruckDatabase
}

export class Sweep {
  readonly faults: Array<string> = []
  readonly struck: Array<Fault> = []
  /** How often the live Sandboxes were checked. */
  looks = 0
  /** The durations by part, in ms. */
  readonly spent: Record<string, number> = {}
  /** By step: how often a fault struck while a client was in the middle of it. */
  readonly during: Record<string, number> = {}
  readonly #fleet: Fleet
  readonly #books: Books
  readonly #clients: ReadonlyArray<SweepClient>
  #isOver = false
  #watching: Promise<void> = Promise.resolve()

  constructor(fleet: Fleet, books: Books, seed: number, clients: number) {
    this.#fleet = fleet
    this.#books = books
    this.#clients = Array.from(
      { length: clients },
      (_, at) => new SweepClient(`c${at}`, seed * 31 + at, fleet.services, this.faults)
    )
  }

  async begin(): Promise<void> {
    for (const client of this.#clients) await client.begin()
    this.#watching = this.#watch()
  }

  /** By step: how often it was acknowledged. */
  get done(): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {}
    for (const { done } of this.#clients) for (const [step, count] of done) sums[step] = (sums[step] ?? 0) + count
    return sums
  }

  /** Each Sandbox lives in one place in one generation at most, whichever member is cut, frozen or lies. */
  async #watch(): Promise<void> {
    for (; !this.#isOver; await sleep(lookEveryMs)) {
      this.looks++
      const places = new Map<string, Array<string>>()
      for (const host of this.#fleet.hosts) {
        for (const { sandboxId, generation } of host.alive) {
          places.set(sandboxId, [...(places.get(sandboxId) ?? []), `${host.name} in generation ${generation}`])
        }
      }
      for (const [id, at] of places) {
        if (at.length > 1) this.faults.push(`${id} is alive ${at.length} times: ${at.join(", ")}`)
      }
    }
  }

  async #timed<A>(what: string, act: () => Promise<A>): Promise<A> {
    const began = performance.now()
    try {
      return await act()
    } finally {
      this.spent[what] = Math.round((this.spent[what] ?? 0) + performance.now() - began)
    }
  }

  async run(round: Round): Promise<void> {
    await this.#timed("faults", async () => {
      for (const { fault, afterMs } of round.faults) {
        await sleep(afterMs)
        this.struck.push(fault)
        for (const { doing } of this.#clients) {
          if (doing !== null) this.during[doing] = (this.during[doing] ?? 0) + 1
        }
        await strike(this.#fleet, fault, this.#books.database)
      }
      await sleep(round.lastsMs)
    })
    await this.#books.database.signal("SIGCONT")
    this.faults.push(...this.#fleet.collapsed)
    await this.#timed("mending", () => this.#fleet.mend())
    await this.#timed("resting", () => Promise.all(this.#clients.map((client) => client.halt())))
    await this.#audit()
    this.faults.push(...this.#fleet.collapsed)
    for (const client of this.#clients) client.resume()
  }

  async end(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end()))
    this.#isOver = true
    await this.#watching
  }

  /** After the end: no create of a client is without an answer. Its Sandbox could come after the fleet was emptied. */
  async answered(): Promise<void> {
    await Promise.all(this.#clients.map((client) => this.#resolve(client)))
  }

  async #audit(): Promise<void> {
    const each = (look: (client: SweepClient) => Promise<void>) => () => Promise.all(this.#clients.map(look))
    await this.#timed(
      "outcomes",
      each((client) => this.#resolve(client))
    )
    await this.#timed(
      "operations",
      each((client) => this.#operations(client))
    )
    this.faults.push(...(await this.#timed("settled", () => soon(() => this.#settled()))))
    await this.#abandon()
    this.faults.push(...(await this.#timed("alive", () => soon(() => this.#alive()))))
    this.faults.push(...(await this.#timed("kept", () => soon(() => this.#kept()))))
    this.faults.push(...(await this.#timed("books", () => soon(this.#books.faults))))
    await this.#timed(
      "contents",
      each((client) => this.#contents(client))
    )
    await this.#timed("previews", () => this.#closedPreviews())
  }

  async #closedPreviews(): Promise<void> {
    for (const { hostname } of this.#clients.flatMap(({ closed }) => closed.splice(0))) {
      for (const { origin } of this.#fleet.services) {
        const status = await visit(origin, hostname)
        if (status !== 404) this.faults.push(`The closed preview ${hostname} is answered ${status} by ${origin}`)
      }
    }
  }

  /** Requests without an answer are repeated, with the same keys. */
  async #resolve(client: SweepClient): Promise<void> {
    for (const end = Date.now() + settleWithinMs; client.creations.length > 0; ) {
      await client.resolveCreation(client.creations[0]!)
      if (Date.now() > end) return void this.faults.push(`${client.name}: no answer to a create`)
    }
    for (const sandbox of client.sandboxes.values()) {
      for (const end = Date.now() + settleWithinMs; sandbox.deletion === "asked"; ) {
        await client.resolveDeletion(sandbox)
        if (Date.now() > end) return void this.faults.push(`${client.name}: no answer to the delete of ${sandbox.id}`)
      }
    }
  }

  async #operations(client: SweepClient): Promise<void> {
    const ended = client.operations.filter(({ result }) => result !== null)
    for (const operation of client.operations) {
      if (operation.id === null || operation.result !== null) continue
      await this.#untilEnded(client, operation)
    }
    for (const operation of ended.slice(-rereadMax)) await this.#read(client, operation)
  }

  async #read(client: SweepClient, operation: KnownOperation) {
    const path = `/sandboxes/${operation.sandboxId}/operations/${operation.id}`
    const answer = await client.ask("GET", path)
    if (answer?.status === 200) client.see(operation, answer.body.operation)
    return answer
  }

  async #untilEnded(client: SweepClient, operation: KnownOperation): Promise<void> {
    const path = `/sandboxes/${operation.sandboxId}/operations/${operation.id}`
    const wrong = await soon(async () => {
      if (operation.lines === null) await client.cancel(operation)
      const answer = await this.#read(client, operation)
      return operation.result === null ? [`${operation.key} does not end: ${JSON.stringify(answer)}`] : []
    }, settleWithinMs)
    this.faults.push(...wrong)
    if (operation.result === null || operation.lines === null) return
    const [status] = JSON.parse(operation.result)
    if (status !== "completed") return
    const answer = await client.ask(
      "GET",
      `${path}/output?stream=stdout&offset=0&limit=262144`,
      undefined,
      undefined,
      settleWithinMs
    )
    const bytes = Buffer.from(answer?.body.data ?? "", "base64")
    const wanted = operation.lines * lineBytes
    if (bytes.length !== wanted || !bytes.equals(expectedBytes(0, wanted)) || answer?.body.eof !== true) {
      this.faults.push(`${operation.key} has ${bytes.length} bytes of output, and wrote ${wanted}`)
    }
  }

  async #listed(): Promise<ReadonlyArray<Seen> | null> {
    const answer = await this.#clients[0]!.ask("GET", "/sandboxes?limit=1000")
    return answer?.status === 200 ? answer.body.sandboxes : null
  }

  get #known(): ReadonlyArray<KnownSandbox> {
    return this.#clients.flatMap(({ sandboxes }) => [...sandboxes.values()])
  }

  /** What was acknowledged is there, what was deleted is gone, and nothing else exists. */
  async #settled(): Promise<ReadonlyArray<string>> {
    const listed = await this.#listed()
    if (listed === null) return ["No service lists the Sandboxes"]
    const seen = new Map(listed.map((sandbox) => [sandbox.id, sandbox]))
    const known = new Map(this.#known.map((sandbox) => [sandbox.id, sandbox]))
    const strangers = listed.filter(({ id, status }) => !known.has(id) && status !== "deleted")
    return [
      ...strangers.map(({ id, status }) => `${id} is ${status}, and no client made it`),
      ...[...known.values()].flatMap((sandbox) => {
        const status = seen.get(sandbox.id)?.status
        if (sandbox.deletion !== null) return status === "deleted" ? [] : [`${sandbox.id} was deleted and is ${status}`]
        return ["running", "stopped", "sleeping", "failed", "expired"].includes(status ?? "")
          ? []
          : [`${sandbox.id} was acknowledged and is ${status}`]
      })
    ]
  }

  /** A useless Sandbox is deleted: its client goes on without it. */
  async #abandon(): Promise<void> {
    const listed = (await this.#listed()) ?? []
    for (const sandbox of this.#known) {
      const status = listed.find(({ id }) => id === sandbox.id)?.status
      if (sandbox.deletion === null && (status === "failed" || status === "expired")) sandbox.deletion = "asked"
    }
  }

  /** A Sandbox that runs by the API runs on its own host, and nothing else runs. */
  async #alive(): Promise<ReadonlyArray<string>> {
    const listed = await this.#listed()
    if (listed === null) return ["No service lists the Sandboxes"]
    const hostOf = await this.#books.hostOf()
    const wanted = listed
      .filter(({ status }) => status === "running")
      .map(({ id, generation }) => `${id}#${generation} on ${hostOf.get(id)}`)
    const found = this.#fleet.hosts.flatMap((host) =>
      host.alive.map(({ sandboxId, generation }) => `${sandboxId}#${generation} on ${host.id}`)
    )
    return [
      ...wanted.filter((one) => !found.includes(one)).map((one) => `${one} runs and is not alive`),
      ...found
        .filter((one) => !wanted.includes(one))
        .map((one) => `${one} is alive and is ${JSON.stringify(listed.find(({ id }) => one.startsWith(id)))}`)
    ]
  }

  /**
   * A volume on a host belongs to a Sandbox there: of a deleted one, or one that moved to another host, nothing is
   * left.
   */
  async #kept(): Promise<ReadonlyArray<string>> {
    const hostOf = await this.#books.hostOf()
    return this.#fleet.hosts.flatMap((host) =>
      host.kept
        .filter((id) => hostOf.get(id) !== host.id)
        .map((id) => `${id} is kept on ${host.name}, and lives on ${hostOf.get(id) ?? "none"}`)
    )
  }

  /**
   * Every acknowledged write is in its file; every command that ended well was started once, every other at most once.
   */
  async #contents(client: SweepClient): Promise<void> {
    for (const sandbox of client.sandboxes.values()) {
      const { id, files, deletion } = sandbox
      if (deletion !== null || !(await this.#runs(id))) continue
      for (const [path, { acknowledged, perhaps }] of files) {
        const content = await this.#content(sandbox, path)
        if (content === undefined || content === acknowledged || (content !== null && perhaps.has(content))) continue
        this.faults.push(`${path} of ${id} is ${content}, and ${acknowledged} was acknowledged`)
      }
      const started = await this.#content(sandbox, "/workspace/starts")
      if (started === undefined) continue
      const starts = (started ?? "").split("\n")
      for (const { key, sandboxId, result } of client.operations) {
        if (sandboxId !== id) continue
        const times = starts.filter((line) => line === key).length
        const hasRun = result !== null && JSON.parse(result)[0] === "completed"
        if (times > 1 || (hasRun && times === 0)) this.faults.push(`${key} was started ${times} times`)
      }
    }
  }

  async #runs(id: string): Promise<boolean> {
    return ((await this.#listed()) ?? []).find((sandbox) => sandbox.id === id)?.status === "running"
  }

  /**
   * The reason why it has stopped, though it ran a moment ago and no fault struck since: an unanswered stop arrived
   * late, or a machine as busy as this took a host for lost. Undefined: it runs, or no service answers. Null: there is
   * no reason.
   */
  async #stoppedBy({ id, mayStop }: KnownSandbox): Promise<string | null | undefined> {
    const answer = await this.#clients[0]!.ask("GET", `/sandboxes/${id}`)
    if (answer?.status !== 200 || answer.body.sandbox.status === "running") return undefined
    const { status, statusReason } = answer.body.sandbox
    if (statusReason?.code === "HOST_LOST") return statusReason.code
    return mayStop && (status === "stopping" || (status === "stopped" && statusReason === null)) ? "a stop" : null
  }

  /** Null: there is no such file. Undefined: the Sandbox has stopped. */
  async #content(sandbox: KnownSandbox, path: string): Promise<string | null | undefined> {
    const { id } = sandbox
    let found: string | null | undefined
    const wrong = await soon(async () => {
      const service = this.#fleet.services[Math.floor(Math.random() * this.#fleet.services.length)]!
      const answer = await service
        .bytes("GET", `/sandboxes/${id}/files/content?path=${path}`, undefined, 10_000)
        .catch((fault: unknown) => ({ status: 0, bytes: Buffer.from(String(fault)) }))
      found = answer.status === 200 ? answer.bytes.toString() : answer.status === 404 ? null : undefined
      if (found !== undefined) return []
      const by = await this.#stoppedBy(sandbox)
      if (typeof by === "string") return []
      return [
        `${path} of ${id}${by === null ? " (stopped for no reason)" : ""}: ${answer.status} ${answer.bytes.toString()}`
      ]
    })
    this.faults.push(...wrong)
    return found
  }
}
