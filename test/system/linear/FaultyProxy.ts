/** Stands between clients and a service, and answers as a service with a certain fault would: a check of the API has to see it. */
import { once } from "node:events"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import { type Answered, type Asked, faults, type ProxyFault } from "./proxyFaults.ts"

const ofConnection = [
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-encoding",
  "content-length",
  "accept-encoding",
  "date"
]
const isStream = (url: string) => /\/(events|stream)(\?|$)/.test(url)
/** Of the changes that a stream tells, every so many are skipped. */
const skipsOneIn = 2

const ownHeaders = (headers: Asked["headers"]) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name))) as Record<string, string>

export class FaultyProxy {
  /** How often it was not what the service said. */
  faults = 0
  readonly #target: string
  readonly #fault: ReturnType<(typeof faults)[ProxyFault]>
  readonly #skipsEvents: boolean
  readonly #server = createServer((asked, response) => void this.#serve(asked, response))
  #events = 0

  private constructor(target: string, fault: ProxyFault) {
    this.#target = target
    this.#fault = faults[fault]()
    this.#skipsEvents = fault === "skippedEvents"
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

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { method = "GET", url = "", headers } = incoming
      const asked: Asked = { method, url, headers, body: Buffer.concat(await incoming.toArray()) }
      if (isStream(url)) return await this.#pass(asked, response)
      const forward = (one: Asked) => this.#forward(one)
      const answer = this.#fault(asked, forward, () => this.faults++) ?? this.#forward(asked)
      const { status, headers: told, body } = await answer
      const length = told["content-length"] === undefined ? {} : { "content-length": body.length }
      response.writeHead(status, { ...ownHeaders(told), ...length }).end(body)
    } catch {
      response.destroy()
    }
  }

  async #send({ method, url, headers, body }: Asked): Promise<IncomingMessage> {
    const sent = request(`${this.#target}${url}`, { method, headers: ownHeaders(headers), agent: false })
    sent.end(body)
    const [answer] = (await once(sent, "response")) as [IncomingMessage]
    return answer
  }

  async #forward(asked: Asked): Promise<Answered> {
    const answer = await this.#send(asked)
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(await answer.toArray()) }
  }

  /** A stream, event by event. */
  async #pass(asked: Asked, response: ServerResponse): Promise<void> {
    const answer = await this.#send(asked)
    if (response.destroyed) return void answer.destroy()
    response.on("close", () => answer.destroy())
    response.writeHead(answer.statusCode ?? 0, ownHeaders(answer.headers))
    let text = ""
    for await (const piece of answer.setEncoding("utf8")) {
      text += piece
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        const event = text.slice(0, end + 2)
        text = text.slice(end + 2)
        // The position goes on, so no later stream tells it either.
        response.write(this.#skips(event) ? event.replace(/^event:.*\n/m, "").replace(/^data:.*\n/m, "") : event)
      }
    }
    response.end(text)
  }

  #skips(event: string): boolean {
    if (!this.#skipsEvents || !/"type": ?"CHANGED"/.test(event) || this.#events++ % skipsOneIn !== 1) return false
    this.faults++
    return true
  }
}
