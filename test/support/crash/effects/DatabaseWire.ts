/**
 * The connections between one run of the service and its Postgres. Each statement that changes something is an effect
 * before it reaches the database and, once it is committed, before the service learns so.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import type { Freeze } from "./Freeze.ts"
import { boundOf, changeOf, type Message, MessageReader, parsedOf, queryOf } from "./wireMessages.ts"

const socketName = ".s.PGSQL.5432"
const inTransaction = 0x54

/**
 * What the run says to an effect. `cut`: this connection ends. `crash`: the whole run of the service ends. `freeze`: it is frozen, and the effect happens
 * once it is woken.
 */
export type Verdict = "pass" | "cut" | "crash" | "freeze"

/** Statements up to the next ReadyForQuery. */
interface Cycle {
  readonly changes: ReadonlyArray<string>
  readonly end: () => void
}

/** Real time: a statement that takes longer waits for another one, perhaps for a lock. */
const turnMaxMs = 30
/** Passes of the event loop in which the service goes on with an answer before the next statement is sent. */
const passesBetween = 3

/** One statement at a time over all connections: otherwise the database would decide the order, and each time another one. */
class Turns {
  readonly #freeze: Freeze
  readonly #waiting: Array<() => void> = []
  #current: object | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(freeze: Freeze) {
    this.#freeze = freeze
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Calls `begin` when it is its turn; what it gets ends that. */
  enter(begin: (end: () => void) => void): void {
    this.#waiting.push(() => {
      const turn = {}
      this.#current = turn
      const end = () => {
        if (this.#current !== turn) return
        this.#current = null
        clearTimeout(this.#timer)
        this.#soon(passesBetween)
      }
      this.#timer = setTimeout(end, turnMaxMs)
      begin(end)
    })
    this.#next()
  }

  #soon(passes: number): void {
    if (passes === 0) this.#next()
    else setImmediate(() => this.#soon(passes - 1))
  }

  #next(): void {
    if (this.#current === null) this.#freeze.when(() => this.#begin())
  }

  #begin(): void {
    if (this.#current === null) this.#waiting.shift()?.()
  }
}

class Connection {
  readonly #client: Socket
  readonly #server: Socket
  readonly #ask: (effect: string) => Verdict
  readonly #statements = new Map<string, string>()
  readonly #cycles: Array<Cycle> = []
  readonly #turns: Turns
  readonly #freeze: Freeze
  #outgoing: Array<Buffer> = []
  #incoming: Array<Buffer> = []
  #changes: Array<string> = []
  #bound: { readonly sql: string; readonly bytes: Buffer } | null = null

  constructor(client: Socket, server: Socket, turns: Turns, freeze: Freeze, ask: (effect: string) => Verdict) {
    this.#turns = turns
    this.#freeze = freeze
    this.#client = client
    this.#server = server
    this.#ask = ask
    const asked = new MessageReader(true)
    const answered = new MessageReader(false)
    for (const [from, to] of [
      [client, server],
      [server, client]
    ] as const) {
      from.on("error", () => {})
      const close = () => {
        to.destroy()
        for (const { end } of this.#cycles.splice(0)) end()
      }
      from.on("close", () => freeze.when(close))
    }
    const sent = (chunk: Buffer) => {
      for (const message of asked.push(chunk)) if (!client.destroyed) this.#send(message)
    }
    const received = (chunk: Buffer) => {
      for (const message of answered.push(chunk)) if (!client.destroyed) this.#receive(message)
      freeze.when(() => this.#flush())
    }
    client.on("data", (chunk: Buffer) => freeze.when(() => sent(chunk)))
    server.on("data", (chunk: Buffer) => freeze.when(() => received(chunk)))
  }

  /** Statements of which the answer is not complete. */
  get open(): number {
    return this.#cycles.length + (this.#outgoing.length > 0 ? 1 : 0)
  }

  end(): void {
    this.#client.destroy()
    this.#server.destroy()
  }

  /** False: the effect does not happen, or stays unknown. */
  #passes(effect: string): boolean {
    const verdict = this.#ask(effect)
    if (verdict === "cut") this.end()
    return verdict === "pass" || verdict === "freeze"
  }

  #send(message: Message): void {
    this.#outgoing.push(message.bytes)
    switch (message.type) {
      case "P": {
        const { name, sql } = parsedOf(message)
        this.#statements.set(name, sql)
        return
      }
      case "B":
        this.#bound = { sql: this.#statements.get(boundOf(message)) ?? "", bytes: message.bytes }
        return
      case "E":
        if (this.#bound !== null) this.#note(changeOf(this.#bound.sql, this.#bound.bytes))
        return
      case "Q":
        this.#note(changeOf(queryOf(message), null))
        this.#complete()
        return
      case "S":
      case "startup":
        this.#complete()
        return
      case "H":
      case "X":
      case "p":
        this.#forward()
    }
  }

  #note(change: string | null): void {
    if (change !== null) this.#changes.push(change)
  }

  #complete(): void {
    const changes = this.#changes
    const bytes = Buffer.concat(this.#outgoing)
    this.#changes = []
    this.#outgoing = []
    this.#turns.enter((end) => {
      for (const change of changes) {
        if (this.#passes(`before ${change}`)) continue
        return end()
      }
      this.#freeze.when(() => {
        if (this.#server.destroyed) return end()
        this.#cycles.push({ changes, end })
        this.#server.write(bytes)
      })
    })
  }

  #forward(): void {
    this.#server.write(Buffer.concat(this.#outgoing))
    this.#outgoing = []
  }

  #receive({ type, bytes }: Message): void {
    this.#incoming.push(bytes)
    if (type !== "Z") return
    const cycle = this.#cycles.shift()
    cycle?.end()
    // In a transaction nothing is done yet.
    if (cycle === undefined || bytes[5] === inTransaction) return
    for (const change of cycle.changes) {
      if (this.#passes(`after ${change}`)) continue
      this.#incoming = []
      return
    }
  }

  /** An answer to a change is held back until it is known whether the service gets it. */
  #flush(): void {
    if (this.#client.destroyed || this.#incoming.length === 0) return
    const first = this.#cycles[0]
    if (first !== undefined && first.changes.length > 0 && this.#cycles.length === 1 && !this.#endsReady()) return
    this.#client.write(Buffer.concat(this.#incoming))
    this.#incoming = []
  }

  #endsReady(): boolean {
    return this.#incoming.at(-1)?.[0] === "Z".charCodeAt(0)
  }
}

export class DatabaseWire {
  readonly #folder: string
  readonly #database: string
  readonly #connections = new Set<Connection>()
  readonly #server
  readonly #turns: Turns
  #isDead = false

  /** @param database The folder of its server's socket. */
  constructor(folder: string, database: string, freeze: Freeze, ask: (effect: string) => Verdict) {
    this.#turns = new Turns(freeze)
    this.#folder = folder
    this.#database = database
    this.#server = createServer((client) => {
      if (this.#isDead) return void client.destroy()
      const connection = new Connection(client, connect(join(this.#database, socketName)), this.#turns, freeze, ask)
      this.#connections.add(connection)
      client.on("close", () => this.#connections.delete(connection))
    })
  }

  async listen(): Promise<void> {
    this.#server.listen(join(this.#folder, socketName))
    await once(this.#server, "listening")
  }

  /** How many statements wait for the database. */
  get open(): number {
    let open = this.#turns.waiting
    for (const connection of this.#connections) open += connection.open
    return open
  }

  /** As the kernel closes the sockets of a killed process: what was sent is done, and nothing more is said. */
  kill(): void {
    this.#isDead = true
    for (const connection of this.#connections) connection.end()
    this.#server.close()
  }
}
