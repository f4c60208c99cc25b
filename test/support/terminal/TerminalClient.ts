/** A terminal's client end: keeps all that it received, and how it was closed. */
import { once } from "node:events"
import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import { WebSocket } from "ws"

export interface Refusal {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

export interface Offer {
  readonly key?: string
  readonly protocols?: ReadonlyArray<string>
  readonly headers?: Readonly<Record<string, string>>
}

const patienceMs = 100_000

export class TerminalClient {
  readonly socket: WebSocket
  /** Of the answer to the handshake. */
  headers: IncomingHttpHeaders = {}
  /** The last part of the output; the count covers all of it. */
  output = ""
  outputBytes = 0
  /** Text frames. */
  readonly told: Array<unknown> = []
  closed: { readonly code: number; readonly reason: string } | null = null
  readonly #look = new Set<() => void>()

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on("upgrade", (response: IncomingMessage) => {
      this.headers = response.headers
    })
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if (isBinary) {
        this.outputBytes += data.length
        this.output = (this.output + data.toString()).slice(-65_536)
      } else this.told.push(JSON.parse(data.toString()))
      this.#tell()
    })
    socket.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() }
      this.#tell()
    })
    socket.on("error", () => {})
  }

  /** @param path With its query. */
  static open(port: number, path: string, offer: Offer = {}): Promise<TerminalClient | Refusal> {
    const { key, protocols = [], headers = {} } = offer
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, [...protocols], {
        headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers }
      })
      const client = new TerminalClient(socket)
      socket.once("open", () => resolve(client))
      socket.once("unexpected-response", async (_, answer) => {
        let body = ""
        for await (const chunk of answer) body += chunk
        resolve({ status: answer.statusCode!, headers: answer.headers, json: JSON.parse(body) })
      })
      socket.once("error", reject)
    })
  }

  type(text: string): void {
    this.socket.send(Buffer.from(text))
  }

  tell(control: unknown): void {
    this.socket.send(typeof control === "string" ? control : JSON.stringify(control))
  }

  /** Resolves once it holds, checked at every message. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#look.delete(look)
        reject(
          new Error(
            `Not within ${patienceMs} ms: ${JSON.stringify([this.closed, this.told, this.output.slice(-2000)])}`
          )
        )
      }, patienceMs)
      const look = () => {
        if (!holds()) return
        clearTimeout(timer)
        this.#look.delete(look)
        resolve()
      }
      this.#look.add(look)
      look()
    })
  }

  shows(text: string | RegExp): Promise<void> {
    return this.until(() => (typeof text === "string" ? this.output.includes(text) : text.test(this.output)))
  }

  async closing(): Promise<{ readonly code: number; readonly reason: string }> {
    await this.until(() => this.closed !== null)
    return this.closed!
  }

  /** Without a closing handshake. */
  async cut(): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) return
    const gone = once(this.socket, "close")
    this.socket.terminate()
    await gone
  }

  #tell(): void {
    for (const look of [...this.#look]) look()
  }
}
