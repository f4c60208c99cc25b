/** Bytes by HTTP, both ways, over kept connections; received bytes are dropped. */
import { Agent, request } from "node:http"

export class Sender {
  readonly #agent: Agent

  constructor(connectionsMax: number) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connectionsMax })
  }

  /** Bytes of the answer. Fails for a status other than 2xx. */
  readonly send = (method: string, url: string, headers: Record<string, string>, body?: Buffer): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request(url, {
        method,
        agent: this.#agent,
        headers: { ...headers, ...(body && { "content-length": body.byteLength }) }
      })
      asked.on("error", reject)
      asked.on("response", (answer) => {
        let bytes = 0
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.byteLength
        })
        answer.on("error", reject)
        answer.on("end", () =>
          answer.statusCode! < 300 ? resolve(bytes) : reject(new Error(`${method} ${url}: ${answer.statusCode}`))
        )
      })
      asked.end(body)
    })
}
