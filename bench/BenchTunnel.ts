/** A tunnel (service access) out of a Sandbox, from the program of `InsideProgram.ts`. */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { WebSocket } from "ws"
import type { BenchService } from "./BenchService.ts"
import { insidePort, startInside } from "./InsideProgram.ts"

const tcpPort = insidePort + 1
/** A capability, and with it each of its connections, ends after an hour. */
const askAgainAfterMs = 30 * 60_000

export class BenchTunnel {
  readonly #service: BenchService
  readonly #sandboxId: string
  #capability = ""
  #askedAt = -Infinity

  private constructor(service: BenchService, sandboxId: string) {
    this.#service = service
    this.#sandboxId = sandboxId
  }

  /** Starts the program too. The service must have service access on. */
  static async into(service: BenchService, sandboxId: string): Promise<BenchTunnel> {
    await startInside(service, sandboxId)
    const tunnel = new BenchTunnel(service, sandboxId)
    await tunnel.#ask()
    return tunnel
  }

  async #ask(): Promise<void> {
    const { base, headers } = this.#service
    const answer = await fetch(`${base}/sandboxes/${this.#sandboxId}/services`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "idempotency-key": randomUUID() },
      body: JSON.stringify({ requested_at: new Date().toISOString(), ports: [tcpPort] })
    })
    if (!answer.ok) throw new Error(`POST services: ${answer.status} ${await answer.text()}`)
    this.#capability = ((await answer.json()) as { readonly capability: string }).capability
    this.#askedAt = performance.now()
  }

  /** One connection, from its opening to its end, which carries so many bytes. `came` is called whenever some of them have come. */
  readonly carry = async (count: number, came: () => void = () => {}): Promise<void> => {
    if (performance.now() - this.#askedAt > askAgainAfterMs) await this.#ask()
    const headers = { authorization: `Bearer ${this.#capability}` }
    const url = `${this.#service.base.replace(/^http/, "ws")}/tunnel?port=${tcpPort}&client=bench`
    const socket = new WebSocket(url, { headers, perMessageDeflate: false })
    await once(socket, "open")
    let size = 0
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if (!isBinary) return socket.send("end")
      size += data.length
      came()
    })
    socket.send(Buffer.from(`${count}\n`))
    await once(socket, "close")
    if (size !== count) throw new Error(`${size} bytes came of ${count}`)
  }
}
