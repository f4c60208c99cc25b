/**
 * The guests of one distant host. Each uses its agent like a local guest, over a connection that the host splices. A guest is kept while it is
 * connected; its session closes an unused connection, and the host bounds their number.
 */
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { makeAgentGuest } from "../agentClient/AgentGuest.ts"
import { type AgentSession, makeAgentSession } from "../agentClient/AgentSession.ts"
import { type Guest, GuestUnavailable } from "../Guest.ts"
import type { AgentConnections } from "./AgentConnections.ts"

interface Kept {
  readonly sandboxId: string
  readonly generation: number
  readonly guest: Guest
  readonly session: AgentSession
  connections: number
  /** The attempt to connect, while it runs. */
  opening: Promise<void> | null
}

export class DistantGuests {
  readonly #connections: AgentConnections
  readonly #kept = new Map<string, Kept>()

  constructor(connections: AgentConnections) {
    this.#connections = connections
  }

  /** Fails when that generation does not run there. */
  guest(sandboxId: string, generation: number): Effect.Effect<Guest, GuestUnavailable> {
    return Effect.suspend(() => {
      const key = `${sandboxId} ${generation}`
      const kept = this.#kept.get(key) ?? this.#make(key, sandboxId, generation)
      if (kept.connections > 0) return Effect.succeed(kept.guest)
      kept.opening ??= this.#prove(key, kept)
      const proved = kept.opening.then(() => kept.guest)
      return Effect.tryPromise({
        try: () => proved,
        catch: (cause) => new GuestUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })
      })
    })
  }

  /** Ends the connections to every generation of a Sandbox up to this one. */
  end(sandboxId: string, generation: number): void {
    this.#endThose((kept) => kept.sandboxId === sandboxId && kept.generation <= generation)
  }

  endAll(): void {
    this.#endThose(() => true)
  }

  #endThose(are: (kept: Kept) => boolean): void {
    for (const [key, kept] of this.#kept) {
      if (!are(kept)) continue
      // Removed first, so that later callers ask the host.
      this.#kept.delete(key)
      kept.session.close()
    }
  }

  #make(key: string, sandboxId: string, generation: number): Kept {
    const session = makeAgentSession({ connect: () => this.#open(key, kept) })
    const guest = makeAgentGuest(session)
    const kept: Kept = { sandboxId, generation, guest, session, connections: 0, opening: null }
    this.#kept.set(key, kept)
    return kept
  }

  /** Opens the session, which detects that the host has ended the connection: a machine that slept and woke has another one. */
  async #prove(key: string, kept: Kept): Promise<void> {
    try {
      await kept.session.ready()
    } finally {
      kept.opening = null
      this.#forgetUnconnected(key, kept)
    }
  }

  async #open(key: string, kept: Kept): Promise<Duplex> {
    const connection = await this.#connections.open(kept.sandboxId, kept.generation)
    if (connection.destroyed) throw new Error("The host of the Sandbox broke off the connection.")
    kept.connections++
    // A holder of an unconnected guest has reconnected it.
    if (!this.#kept.has(key)) this.#kept.set(key, kept)
    connection.once("close", () => {
      kept.connections--
      this.#forgetUnconnected(key, kept)
    })
    return connection
  }

  #forgetUnconnected(key: string, kept: Kept): void {
    if (kept.connections === 0 && kept.opening === null && this.#kept.get(key) === kept) this.#kept.delete(key)
  }
}
