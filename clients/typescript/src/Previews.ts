/** Ports of a Sandbox, each under a separate URL. */
import { WaitTimeout } from "./errors.ts"
import type { ListedPreview, Preview as PreviewRecord } from "./generated/schemas.ts"
import { sleep } from "./http/sleep.ts"
import type { Transport } from "./http/Transport.ts"
import type { Waiting } from "./Waiting.ts"

export interface OpenPreviewOptions extends Waiting {
  /** How long to wait until a program listens on the port. 0: not at all. By default 30. */
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
   * One per Sandbox, for an hour. Waits until a program listens; if none does, it closes the preview and fails with
   * WaitTimeout.
   */
  async open(port: number, { withinSeconds = 30, ...options }: OpenPreviewOptions = {}): Promise<Preview> {
    const { preview: record } = await this.#transport.call("createPreview", {
      parameters: { id: this.#id },
      body: { port },
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

  async list(options: Waiting = {}): Promise<ReadonlyArray<ListedPreview>> {
    return (await this.#transport.call("listPreviews", { parameters: { id: this.#id }, ...options })).previews
  }

  /** Closes the open preview, even if its id is lost. */
  async close(options: Waiting = {}): Promise<void> {
    await this.#transport.call("closePreviews", { parameters: { id: this.#id }, ...options })
  }
}
