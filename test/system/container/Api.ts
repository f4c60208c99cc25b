/** The HTTP API as a client uses it: JSON in and out, bytes for files. */
import { type IncomingMessage, request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"

export interface Answer {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a trial looks into, it holds against what it expects
  readonly json: any
}

export interface Call {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const PATIENCE_MS = 90_000

export class Api {
  private readonly origin: string
  private readonly key: string

  /** @param origin Such as `http://127.0.0.1:8080`. */
  constructor(origin: string, key = "") {
    this.origin = origin
    this.key = key
  }

  with(change: { readonly origin?: string; readonly key?: string }): Api {
    return new Api(change.origin ?? this.origin, change.key ?? this.key)
  }

  /** Accepts every status. */
  call(method: string, path: string, { body, headers = {} }: Call = {}): Promise<Answer> {
    const bytes = body === undefined ? null : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
    const url = new URL(path.startsWith("/v2/") ? `/api${path}` : path, this.origin)
    return new Promise((resolve, reject) => {
      const sent = (url.protocol === "https:" ? requestHttps : requestHttp)(
        url,
        {
          method,
          agent: false,
          timeout: PATIENCE_MS,
          // The certificate is the trial's own.
          rejectUnauthorized: false,
          headers: {
            ...(this.key === "" ? {} : { authorization: `Bearer ${this.key}` }),
            ...(bytes === null
              ? {}
              : {
                  "content-type": Buffer.isBuffer(body) ? "application/octet-stream" : "application/json",
                  "content-length": String(bytes.length)
                }),
            ...headers
          }
        },
        (response: IncomingMessage) => {
          let text = ""
          response.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk
          })
          response.on("error", reject)
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text, json: parsed(text) }))
        }
      )
      sent.on("timeout", () => sent.destroy(new Error(`${method} ${path} was not answered in time`)))
      sent.on("error", reject)
      sent.end(bytes ?? undefined)
    })
  }

  /** The answer, which must have this status. */
  async expect(status: number, method: string, path: string, call: Call = {}): Promise<Answer> {
    const answer = await this.call(method, path, call)
    if (answer.status !== status)
      throw new Error(`${method} ${path} answered ${answer.status}, not ${status}: ${answer.text.slice(0, 500)}`)
    return answer
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
