/**
 * The sockets of a pool, and which of them wait for an answer. A server that is frozen or cut off sends no error, so its silence has to be
 * detected here.
 */
import { connect, type NetConnectOpts, type Socket } from "node:net"
import type { PgClient } from "@effect/sql-pg"
import { Redacted } from "effect"

const defaultPort = 5432

/** The address that the client itself would use (libpq's URI, its socket folder, or the socket file). */
const addressOf = ({ url, path }: Pick<PgClient.PgClientConfig, "url" | "path">): NetConnectOpts => {
  if (path !== undefined) return { path }
  const parsed = new URL(Redacted.value(url!))
  const named = parsed.searchParams.get("host") ?? decodeURIComponent(parsed.hostname.replace(/^\[|\]$/g, ""))
  const host = named === "" ? "localhost" : named
  const port = Number(parsed.searchParams.get("port") ?? (parsed.port || defaultPort))
  return host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port, noDelay: true }
}

interface Watched {
  readonly socket: Socket
  /** The name of its pool. */
  readonly pool: string
  /** This socket is closed after so many checks without an answer, even if the server answers others. */
  readonly patienceLooks: number
  /** Checks since the server last sent something; null while no answer is due. */
  waitedLooks: number | null
  /** With TLS the protocol is not visible, so waiting cannot be detected. */
  isSealed: boolean
}

/** The end of every answer: ReadyForQuery. Its letter, its length 5, then one byte for the transaction's state. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])
const tlsAccepted = 0x53

const isAnswered = (chunk: Buffer): boolean =>
  chunk.length > readyForQuery.length && chunk.subarray(-1 - readyForQuery.length, -1).equals(readyForQuery)

export class DatabaseSockets {
  readonly #watched = new Set<Watched>()
  readonly #server: Pick<PgClient.PgClientConfig, "url" | "path">
  #isSilent = false

  constructor(server: Pick<PgClient.PgClientConfig, "url" | "path">) {
    this.#server = server
  }

  /**
   * Makes the sockets of a pool. Throws while the server is silent; the watch waits for it.
   *
   * @param patienceLooks A silent connection is closed after so many checks, even if the server answers others.
   */
  open(patienceLooks: number): (pool: string) => Socket {
    return (pool) => {
      if (this.#isSilent) throw silence()
      return this.#connect(pool, patienceLooks)
    }
  }

  /** For the watch: connects even while the server is silent. */
  readonly openAnyway = (pool: string): Socket => this.#connect(pool, Number.POSITIVE_INFINITY)

  /** How many connections of a pool are open, and how many of them wait for an answer; waiting is not visible with TLS. */
  countOf(pool: string): { readonly open: number; readonly busy: number } {
    let open = 0
    let busy = 0
    for (const watched of this.#watched) {
      if (watched.pool !== pool) continue
      open++
      if (!watched.isSealed && watched.waitedLooks !== null) busy++
    }
    return { open, busy }
  }

  #connect(pool: string, patienceLooks: number): Socket {
    const socket = connect(addressOf(this.#server))
    const watched: Watched = { socket, pool, patienceLooks, waitedLooks: null, isSealed: false }
    this.#watched.add(watched)
    const write = socket.write.bind(socket) as (...args: ReadonlyArray<unknown>) => boolean
    socket.write = (...args: ReadonlyArray<unknown>) => {
      watched.waitedLooks ??= 0
      return write(...args)
    }
    socket.once("data", (chunk: Buffer) => {
      watched.isSealed = chunk.length === 1 && chunk[0] === tlsAccepted
    })
    socket.on("data", (chunk: Buffer) => {
      if (watched.waitedLooks !== null) watched.waitedLooks = isAnswered(chunk) ? null : 0
    })
    socket.once("close", () => this.#watched.delete(watched))
    return socket
  }

  /** One check of all sockets; called at a steady rate. */
  look(): void {
    for (const watched of this.#watched) {
      if (!watched.isSealed && watched.waitedLooks !== null && watched.waitedLooks++ >= watched.patienceLooks)
        cut(watched)
    }
  }

  /** The whole server is silent: closes the sockets that wait for it, and refuses new ones. */
  silent(): void {
    this.#isSilent = true
    for (const watched of this.#watched) if (watched.isSealed || watched.waitedLooks !== null) cut(watched)
  }

  answered(): void {
    this.#isSilent = false
  }
}

const silence = () => new Error("the server does not answer")

const cut = ({ socket }: Watched): void => {
  socket.destroy(silence())
}
