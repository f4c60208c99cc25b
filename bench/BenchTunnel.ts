/** A tunnel (service access) out of a Sandbox, from the program of `InsideProgram.ts`. */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { WebSocket } from "ws"
import type { BenchService } from "./BenchService.ts"
import { insidePort, startInside } from "./InsideProgram.ts"

export class BenchTunnel {
  readonly #url: string
  readonly #capability: string

  private constructor(url: string, capability: string) {
    this.#url = url
    this.#capability = capability
  }

  /** Starts the program too. The service must have service access on. */
  static async into(service: BenchService, sandboxId: string): Promise<BenchTunnel> {
    await startInside(service, sandboxId)
    const tcpPort = insidePort + 1
    const answer = await fetch(`${service.base}/sandboxes/${sandboxId}/services`, {
      method: "POST",
      headers: { ...service.headers, "content-type": "application/json", "idempotency-key": randomUUID() },
      body: JSON.stringify({ requested_at: new Date().toISOString(), ports: [tcpPort] })
    })
    if (!answer.ok) throw new Error(`POST services: ${answer.status} ${await answer.text()}`)
    const { capability } = (await answer.json()) as { readonly capability: string }
    return new BenchTunnel(`${service.base.replace(/^http/, "ws")}/tunnel?port=${tcpPort}&client=bench`, capability)
  }

  /** One connection, from its opening to its end, which carries so many bytes. `came` is called whenever some of them have come. */
  readonly carry = async (count: number, came: () => void = () => {}): Promise<void> => {
    const headers = { authorization: `Bearer ${this.#capability}` }
    const socket = new WebSocket(this.#url, { headers, perMessageDeflate: false })
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
