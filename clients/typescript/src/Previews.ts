/** Ports of a Sandbox, each under a separate URL. */
import { WaitTimeout } from "./errors.ts"
import type { ListedPreview, Preview as PreviewRecord } from "./generated/schemas.ts"
import { sleep } from "./http/sleep.ts"
import type { Transport } from "./http/Transport.ts"
import type { PreviewSocketOptions } from "./node/previewRequest.ts"
import type { PreviewSocket } from "./PreviewSocket.ts"
import { hasNode, needNode } from "./socket/openSocket.ts"
import type { Waiting } from "./Waiting.ts"

export interface OpenPreviewOptions extends Waiting {
  /** Opens it beside previews of other ports. By default the service refuses while one is open (`PREVIEW_EXISTS`). */
  readonly alongside?: boolean | undefined
  /** How long to wait until something listens on the port. 0: not at all. By default 30. */
  readonly withinSeconds?: number | undefined
}

const lookEveryMs = 150

export class Preview {
  readonly id: string
  /** Anyone who knows it can use it. */
  readonly url: string
  readonly port: number
  readonly expiresAt: string
  readonly #transport: Transport
  readonly #sandboxId: string

  constructor(transport: Transport, { id, url, port, expiresAt, sandboxId }: PreviewRecord) {
    this.#transport = transport
    this.#sandboxId = sandboxId
    this.id = id
    this.url = url
    this.port = port
    this.expiresAt = expiresAt
  }

  /**
   * As `fetch`, of a path of the preview: `preview.fetch("/health")`. It needs no name service, where `fetch(preview.url)` does: names below
   * `.localhost` do not resolve in Node and Python. Sends no API key. In browsers it is the browser's own fetch.
   */
  async fetch(path: string | URL = "/", init: RequestInit = {}): Promise<Response> {
    const url = this.#urlOf(path)
    if (!hasNode()) return fetch(url, init)
    const { previewFetch } = await import("./node/previewRequest.ts")
    return previewFetch({ api: this.#transport.url, url }, init)
  }

  /** A WebSocket to a path of the preview, as `fetch` reaches it. In browsers: `new WebSocket(preview.url)`. */
  async webSocket(path: string | URL = "/", options: PreviewSocketOptions = {}): Promise<PreviewSocket> {
    needNode("A preview's webSocket() needs")
    const { previewSocket } = await import("./node/previewRequest.ts")
    return previewSocket({ api: this.#transport.url, url: this.#urlOf(path) }, options)
  }

  #urlOf(path: string | URL): URL {
    const own = new URL(this.url)
    const url = new URL(path, own)
    if (/^wss?:$/.test(url.protocol)) url.protocol = own.protocol
    if (url.origin === own.origin) return url
    throw new TypeError(
      `${url.href} is no address of this preview. Give a path, such as "/health". A preview has a separate host name and no path of the API's origin: pages there would share cookies with the console and with other previews.`
    )
  }

  async close(options: Waiting = {}): Promise<void> {
    await this.#transport.call("closePreview", { parameters: { id: this.#sandboxId, previewId: this.id }, ...options })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

export class Previews {
  readonly #transport: Transport
  readonly #id: string
  readonly #listens: (port: number, options: Waiting) => Promise<boolean>

  /** `listens`: whether a program in the Sandbox takes connections on a port. */
  constructor(transport: Transport, sandboxId: string, listens: (port: number, options: Waiting) => Promise<boolean>) {
    this.#transport = transport
    this.#id = sandboxId
    this.#listens = listens
  }

  /**
   * One per Sandbox (or several of different ports, with `alongside`), for an hour. Waits until a program listens; if
   * none does, it closes the preview and fails with WaitTimeout.
   */
  async open(port: number, { withinSeconds = 30, alongside, ...options }: OpenPreviewOptions = {}): Promise<Preview> {
    const { preview: record } = await this.#transport.call("createPreview", {
      parameters: { id: this.#id },
      body: { port, ...(alongside === undefined ? {} : { alongside }) },
      ...options
    })
    const preview = new Preview(this.#transport, record)
    if (withinSeconds === 0) return preview
    try {
      for (const until = Date.now() + withinSeconds * 1000; !(await this.#listens(port, options)); ) {
        if (Date.now() > until) throw new WaitTimeout(`Nothing listens on port ${port} after ${withinSeconds} s.`)
        await sleep(lookEveryMs, options.signal)
      }
      return preview
    } catch (thrown) {
      await preview.close().catch(() => {})
      throw thrown
    }
  }

  /** The open preview of that port, any key of the account may have opened it. Fails with NOT_FOUND where none is open. */
  async get(port: number, options: Waiting = {}): Promise<Preview> {
    const { preview } = await this.#transport.call("lookUpPreview", {
      parameters: { id: this.#id },
      body: { port },
      ...options
    })
    return new Preview(this.#transport, preview)
  }

  async list(options: Waiting = {}): Promise<ReadonlyArray<ListedPreview>> {
    return (await this.#transport.call("listPreviews", { parameters: { id: this.#id }, ...options })).previews
  }

  /** Closes the open preview, even if its id is lost. */
  async close(options: Waiting = {}): Promise<void> {
    await this.#transport.call("closePreviews", { parameters: { id: this.#id }, ...options })
  }
}
