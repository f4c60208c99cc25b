/**
 * A client that never rests and repeats each request once: it reads, writes a file and reads it back, over and over,
 * while containers are killed below it. Both may be repeated: a read changes nothing, and a file that is written twice
 * holds the same.
 */
import { setTimeout as wait } from "node:timers/promises"
import type { Answer, Api } from "./Api.ts"

const pauseMs = 25
/** The Retry-After of a service that stops, and about as long as a balancer needs to see that it is gone. */
const repeatAfterMs = 1000

export interface Told {
  readonly asked: number
  /** Requests that were sent twice. */
  readonly repeated: number
  /** Answers to the second try that were no success either. */
  readonly failed: ReadonlyArray<string>
  /** The longest duration of one request, with its repetition. */
  readonly longestMs: number
}

export class Client {
  private readonly api: Api
  private readonly sandbox: string
  private ending = false
  private asked = 0
  private repeated = 0
  private longestMs = 0
  private readonly failed: Array<string> = []
  private readonly work: Promise<void>

  /** @param sandbox A running one, on a host that is not killed. */
  constructor(api: Api, sandbox: string) {
    this.api = api
    this.sandbox = sandbox
    this.work = this.run()
  }

  /** Ends when the request in flight has been answered. */
  async end(): Promise<Told> {
    this.ending = true
    await this.work
    return { asked: this.asked, repeated: this.repeated, failed: this.failed, longestMs: Math.round(this.longestMs) }
  }

  private async run(): Promise<void> {
    for (let round = 0; !this.ending; round++) {
      const text = `${round}\n`
      const path = `/v2/sandboxes/${this.sandbox}/files/content?path=/workspace/round.txt`
      await this.ask("GET", `/v2/sandboxes/${this.sandbox}`)
      const written = await this.ask("PUT", path, Buffer.from(text))
      const read = await this.ask("GET", path)
      // What was acknowledged is there.
      if (written !== null && read !== null && read.text !== text) this.failed.push(`read ${read.text}, not ${text}`)
      await wait(pauseMs)
    }
  }

  private async ask(method: string, path: string, body?: Buffer): Promise<Answer | null> {
    const began = performance.now()
    this.asked++
    try {
      const first = await this.once(method, path, body)
      if (typeof first !== "string") return first
      this.repeated++
      await wait(repeatAfterMs)
      const second = await this.once(method, path, body)
      if (typeof second !== "string") return second
      this.failed.push(`${method} ${path}: ${first}, then ${second}`)
      return null
    } finally {
      this.longestMs = Math.max(this.longestMs, performance.now() - began)
    }
  }

  /** The answer, or the fault instead of one. */
  private async once(method: string, path: string, body?: Buffer): Promise<Answer | string> {
    try {
      const answer = await this.api.call(method, path, body === undefined ? {} : { body })
      return answer.status < 400 ? answer : `${answer.status} ${answer.text.slice(0, 300)}`
    } catch (fault) {
      return String(fault)
    }
  }
}
