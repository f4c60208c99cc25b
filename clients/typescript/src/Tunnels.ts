/**
 * TCP connections to the ports of one Sandbox, and the service's capability for each port, which opens them for an
 * hour.
 */
import { AtollError } from "./errors.ts"
import type { Transport } from "./http/Transport.ts"
import { unlessAborted } from "./http/unlessAborted.ts"
import type { TunnelStream } from "./node/TunnelStream.ts"
import type { Waiting } from "./Waiting.ts"

interface Access {
  /** A UUID v4. */
  readonly id: string
  readonly capability: string
}

const protocol = "atoll.tunnel"
/** Connections are cut when the access that opened them ends, after an hour: so each gets most of an hour. */
const freshForMs = 10 * 60_000

export class Tunnels {
  readonly #transport: Transport
  readonly #id: string
  readonly #accesses = new Map<number, { readonly access: Promise<Access>; readonly until: number }>()
  readonly #granted = new Set<string>()

  constructor(transport: Transport, sandboxId: string) {
    this.#transport = transport
    this.#id = sandboxId
  }

  async open(port: number, { signal }: Waiting): Promise<TunnelStream> {
    const { TunnelStream } = await import("./node/TunnelStream.ts")
    const connect = ({ id, capability }: Access) =>
      TunnelStream.open((listener) =>
        this.#transport.connect(
          // Connections of one client live together: a newer client replaces the older.
          { path: "/api/v2/tunnel", query: { port, client: id }, protocol, secret: capability, signal },
          listener
        )
      )
    try {
      return await connect(await this.#access(port, signal))
    } catch (thrown) {
      // It ended early: it was revoked, or the Sandbox restarted.
      if (!(thrown instanceof AtollError) || !thrown.is("UNAUTHENTICATED")) throw thrown
      this.#accesses.delete(port)
      return connect(await this.#access(port, signal))
    }
  }

  /** Fails where a tunnel to this port would be refused by the service. Connects to nothing in the Sandbox. */
  async ready(port: number, { signal }: Waiting): Promise<void> {
    await this.#access(port, signal)
  }

  /** Ends all accesses of this object, and their connections. */
  async revoke(options: Waiting): Promise<void> {
    this.#accesses.clear()
    for (const generationId of this.#granted) {
      try {
        await this.#transport.call("revokeServiceAccess", { parameters: { id: this.#id, generationId }, ...options })
      } catch (thrown) {
        if (!(thrown instanceof AtollError) || !thrown.is("NOT_FOUND")) throw thrown
      }
      this.#granted.delete(generationId)
    }
  }

  async #access(port: number, signal: AbortSignal | undefined): Promise<Access> {
    signal?.throwIfAborted()
    const known = this.#accesses.get(port)
    if (known !== undefined && performance.now() < known.until) return unlessAborted(known.access, signal)
    // Shared by all callers that open a tunnel at this time: none of them may abort it for the others.
    const access = this.#ask(port)
    const kept = { access, until: performance.now() + freshForMs }
    this.#accesses.set(port, kept)
    access.catch(() => {
      if (this.#accesses.get(port) === kept) this.#accesses.delete(port)
    })
    return unlessAborted(access, signal)
  }

  async #ask(port: number): Promise<Access> {
    const id = crypto.randomUUID()
    const body = { requested_at: new Date(this.#transport.now()).toISOString(), ports: [port] }
    const { capability } = await this.#transport.call("createServiceAccess", {
      parameters: { id: this.#id, "Idempotency-Key": id },
      body
    })
    this.#granted.add(id)
    return { id, capability }
  }
}
