/** The network between a process and the run's database, which a test may slow down, or cut silently. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { inject } from "vitest"
import { testDatabaseUrl } from "./TestPostgres.ts"
import { testFolder } from "./testFolder.ts"

const socketName = ".s.PGSQL.5432"

export class DatabaseLink {
  readonly #folder: string
  readonly #oneWayMs: number
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => {
    const database = connect(join(inject("testPostgresSocketFolder"), socketName))
    this.#join(client, database)
    this.#join(database, client)
  })
  /** The bytes while the link is cut; null: it is not. */
  #held: Array<() => void> | null = null

  private constructor(folder: string, oneWayMs: number) {
    this.#folder = folder
    this.#oneWayMs = oneWayMs
  }

  /** @param oneWayMs The delay of a byte. */
  static readonly open = (oneWayMs = 0) =>
    Effect.gen(function* () {
      const link = new DatabaseLink(yield* testFolder, oneWayMs)
      yield* Effect.promise(() => link.mend())
      yield* Effect.addFinalizer(() => Effect.sync(() => link.cut()))
      return link
    })

  /** Every connection ends, and nothing listens any more. */
  cut(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  /** It listens again. */
  async mend(): Promise<void> {
    this.#server.listen(join(this.#folder, socketName))
    await once(this.#server, "listening")
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.on("error", () => {})
    from.on("data", (bytes) => this.#carry(() => to.write(bytes)))
    from.on("close", () => {
      this.#sockets.delete(from)
      this.#carry(() => to.destroy())
    })
  }

  #carry(arrives: () => void): void {
    if (this.#oneWayMs === 0) this.#arrive(arrives)
    else setTimeout(() => this.#arrive(arrives), this.#oneWayMs)
  }

  #arrive(arrives: () => void): void {
    if (this.#held === null) arrives()
    else this.#held.push(arrives)
  }

  /** The DATABASE_URL of a database through this link. */
  urlOf(database: string): string {
    return testDatabaseUrl(this.#folder, database)
  }

  /** From now on nothing arrives at either end, neither a byte nor the end of a connection. */
  silence(): void {
    this.#held ??= []
  }

  /** All of it arrives now. */
  speak(): void {
    const held = this.#held ?? []
    this.#held = null
    for (const arrives of held) arrives()
  }
}
