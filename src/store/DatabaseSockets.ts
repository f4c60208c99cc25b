/**
 * The sockets of a pool, and which of them wait for an answer: a server that was frozen, or is behind a network that was cut, sends no
 * error, so whoever waits for it must be told otherwise.
 */
import { connect, type NetConnectOpts, type Socket } from "node:net"
import type { PgClient } from "@effect/sql-pg"
import { Redacted } from "effect"

const defaultPort = 5432

/** Where the client itself would connect to (libpq's URI, its socket folder, or the socket file itself). */
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
  /** Of which pool. */
  readonly pool: string
  /** After so many looks this one is given up, although the server answers others. */
  readonly patienceLooks: number
  /** Looks since the server last sent something, while it has something to answer. */
  waitedLooks: number | null
  /** TLS goes past us: nobody sees who waits for whom. */
  isSealed: boolean
}

/** The end of every answer: ReadyForQuery, five bytes long but for its letter, the last of which is the transaction's state. */
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
   * Makes the sockets of a pool. Throws while the server is silent: to wait for it is the watch's work.
   *
   * @param patienceLooks After so many looks one silent connection is given up, although the server answers others.
   */
  open(patienceLooks: number): (pool: string) => Socket {
    return (pool) => {
      if (this.#isSilent) throw silence()
      return this.#connect(pool, patienceLooks)
    }
  }

  /** The same for the watch itself. */
  readonly openAnyway = (pool: string): Socket => this.#connect(pool, Number.POSITIVE_INFINITY)

  /** How many connections of a pool are open, and how many of them wait for an answer: those that go by TLS are not seen to. */
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

  /** Called at a steady pace. */
  look(): void {
    for (const watched of this.#watched) {
      if (!watched.isSealed && watched.waitedLooks !== null && watched.waitedLooks++ >= watched.patienceLooks)
        cut(watched)
    }
  }

  /** The whole server is silent: gives up whatever waits for it, and waits for no more. */
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
