/** Stands between clients and a service, and answers as a service with a certain fault would: a check of the API has to see it. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/**
 * `staleReads`: a Sandbox is read from a cache that is up to a second old. `earlyAnswers`: the write of a file is acknowledged, and done a little
 * later. `lostChanges`: a change that was answered is undone, as if the service had crashed before its commit.
 */
export type ProxyFault = "staleReads" | "earlyAnswers" | "lostChanges"

const staleForMs = 1_000
const lateByMs = 300
const oneIn = 4
const ofConnection = ["connection", "keep-alive", "transfer-encoding", "content-encoding", "date"]

interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly at: number
}

export class FaultyProxy {
  /** How often it was not what the service said. */
  faults = 0
  readonly #fault: ProxyFault
  readonly #target: string
  readonly #cache = new Map<string, Answered>()
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  #count = 0

  private constructor(target: string, fault: ProxyFault) {
    this.#target = target
    this.#fault = fault
  }

  static async to(target: string, fault: ProxyFault): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target, fault)
    proxy.#server.listen(0, "127.0.0.1")
    await once(proxy.#server, "listening")
    return proxy
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as { readonly port: number }).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray())
    try {
      const { status, headers, body: sent } = await this.#answer(request, body)
      response.writeHead(status, headers).end(sent)
    } catch {
      response.destroy()
    }
  }

  async #answer(request: IncomingMessage, body: Buffer): Promise<Answered> {
    const { method, url = "" } = request
    const isSandbox = /^\/api\/v2\/sandboxes\/[^/?]+$/.test(url)
    const isChosen = this.#count++ % oneIn === 0
    if (this.#fault === "staleReads" && method === "GET" && isSandbox) {
      const known = this.#cache.get(url)
      if (known !== undefined && Date.now() - known.at < staleForMs) {
        this.faults++
        return known
      }
      const fresh = await this.#forward(request, body)
      this.#cache.set(url, fresh)
      return fresh
    }
    if (this.#fault === "earlyAnswers" && method === "PUT") {
      this.faults++
      void sleep(lateByMs).then(() => this.#forward(request, body).catch(() => {}))
      return { status: 204, headers: { "x-request-id": "early" }, body: Buffer.alloc(0), at: Date.now() }
    }
    if (this.#fault === "lostChanges" && method === "PATCH" && isSandbox && isChosen) {
      const before = JSON.parse(
        (await this.#forward({ ...headOf(request), method: "GET" }, Buffer.alloc(0))).body.toString()
      )
      const answer = await this.#forward(request, body)
      if (answer.status !== 200) return answer
      const { name, metadata } = before.sandbox
      this.faults++
      await this.#forward(headOf(request), Buffer.from(JSON.stringify({ name, metadata })))
      return answer
    }
    return this.#forward(request, body)
  }

  async #forward(
    { method, url, headers }: Pick<IncomingMessage, "method" | "url" | "headers">,
    body: Buffer
  ): Promise<Answered> {
    const kept = ["authorization", "content-type", "idempotency-key"].flatMap((name) =>
      typeof headers[name] === "string" ? [[name, headers[name]] as const] : []
    )
    const answer = await fetch(`${this.#target}${url}`, {
      method: method!,
      headers: Object.fromEntries(kept),
      ...(body.length === 0 ? {} : { body: Uint8Array.from(body) })
    })
    const own = [...answer.headers].filter(([name]) => !ofConnection.includes(name))
    const sent = Buffer.from(await answer.arrayBuffer())
    return { status: answer.status, headers: Object.fromEntries(own), body: sent, at: Date.now() }
  }
}

const headOf = ({ method, url, headers }: IncomingMessage) => ({ method, url, headers })
