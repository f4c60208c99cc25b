/** A client of server-sent events that keeps all it receives, unchanged. */
import { type ClientRequest, get, type IncomingMessage } from "node:http"

export interface ServerSentEvent {
  readonly id: string | null
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  readonly data: any
}

export class EventClient {
  readonly events: Array<ServerSentEvent> = []
  readonly comments: Array<string> = []
  status = 0
  headers: IncomingMessage["headers"] = {}
  /** As a browser keeps it. */
  lastEventId: string | null = null
  /** The body of an answer that is no stream. */
  body = ""
  isOver = false
  readonly #request: ClientRequest
  #response: IncomingMessage | null = null
  readonly #told = new Set<() => void>()

  constructor(port: number, path: string, headers: Readonly<Record<string, string>>) {
    let rest = ""
    this.#request = get({ port, host: "127.0.0.1", path, headers, agent: false }, (response) => {
      this.#response = response
      this.status = response.statusCode!
      this.headers = response.headers
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        if (this.status !== 200) this.body += chunk
        else {
          const parts = (rest + chunk).split("\n\n")
          rest = parts.pop()!
          for (const part of parts) this.#take(part)
        }
        this.#tell()
      })
      response.on("close", () => this.#end())
      response.on("error", () => {})
      this.#tell()
    })
    this.#request.on("error", () => this.#end())
  }

  get transitions() {
    return this.events.filter(({ event }) => event === "transition")
  }

  /** Resolves once it holds; rejects when it does not within 100 s. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#told.delete(look)
        reject(
          new Error(
            `After 100 s: status ${this.status}, ${this.events.length} events, ${this.body}, over: ${this.isOver}`
          )
        )
      }, 100_000)
      const look = () => {
        if (!holds()) return
        clearTimeout(timer)
        this.#told.delete(look)
        resolve()
      }
      this.#told.add(look)
      look()
    })
  }

  /** Stops reading until it is resumed: the bytes fill the sockets. */
  pause(): void {
    this.#response?.pause()
  }

  resume(): void {
    this.#response?.resume()
  }

  close(): void {
    this.#request.destroy()
  }

  #take(part: string): void {
    let id: string | null = null
    let event = "message"
    let data: string | null = null
    for (const line of part.split("\n")) {
      if (line.startsWith(":")) this.comments.push(line.slice(1).trim())
      else if (line.startsWith("id: ")) id = line.slice(4)
      else if (line.startsWith("event: ")) event = line.slice(7)
      else if (line.startsWith("data: ")) data = line.slice(6)
    }
    if (id !== null) this.lastEventId = id
    if (data !== null) this.events.push({ id, event, data: JSON.parse(data) })
  }

  #end(): void {
    this.isOver = true
    this.#tell()
  }

  #tell(): void {
    for (const told of [...this.#told]) told()
  }
}
