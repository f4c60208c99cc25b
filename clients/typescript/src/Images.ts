/** Images of an account: root file systems for Sandboxes, pulled from registries or uploaded. */
import { WaitTimeout } from "./errors.ts"
import type { Image as ImageRecord, ImageStatus, PullImageRequest, Transition } from "./generated/schemas.ts"
import { paged } from "./http/paged.ts"
import { randomKey } from "./http/randomKey.ts"
import { sleep } from "./http/sleep.ts"
import type { Transport } from "./http/Transport.ts"
import { needNode } from "./socket/openSocket.ts"
import type { Waiting } from "./Waiting.ts"

export interface UntilPulled extends Waiting {
  /** By default 600. */
  readonly withinSeconds?: number | undefined
}

export interface PullImageOptions extends UntilPulled, Omit<PullImageRequest, "reference"> {
  /** Names this pull: the same key returns the same image, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** False: returns an image that a host may still be pulling. */
  readonly untilReady?: boolean | undefined
}

export interface UploadImageOptions extends UntilPulled {
  readonly name?: string | undefined
  /** Names this upload: the same key and file return the same image, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** False: returns an image that a host may still be unpacking. */
  readonly untilReady?: boolean | undefined
}

export interface ListImagesOptions extends Waiting {
  /** Only those with exactly this name. */
  readonly name?: string | undefined
  readonly status?: ReadonlyArray<ImageStatus> | undefined
}

const lookEveryMs = 200

export class Image {
  readonly id: string
  readonly #transport: Transport
  #record: ImageRecord

  constructor(transport: Transport, record: ImageRecord) {
    this.#transport = transport
    this.#record = record
    this.id = record.id
  }

  /** As the service's last answer has it. */
  get record(): ImageRecord {
    return this.#record
  }

  get status(): ImageStatus {
    return this.#record.status
  }

  async refresh(options: Waiting = {}): Promise<this> {
    const { image } = await this.#transport.call("getImage", { parameters: { id: this.id }, ...options })
    this.#record = image
    return this
  }

  /** Waits while a host pulls or unpacks it. Fails, with its status, if it will not be ready. */
  async untilReady({ withinSeconds = 600, ...options }: UntilPulled = {}): Promise<this> {
    for (const until = Date.now() + withinSeconds * 1000; this.status === "pulling"; ) {
      if (Date.now() > until) throw new WaitTimeout(`The image ${this.id} is ${this.status} after ${withinSeconds} s.`)
      await sleep(lookEveryMs, options.signal)
      await this.refresh(options)
    }
    if (this.status !== "ready") {
      const reason = this.#record.statusReason
      const why = reason === null ? "" : ` (${reason.code}: ${reason.message})`
      throw new WaitTimeout(`The image ${this.id} is ${this.status}${why}, and will not be ready.`)
    }
    return this
  }

  /** Permanently. Fails with IMAGE_IN_USE while a Sandbox or a snapshot has it. */
  async delete(options: Waiting = {}): Promise<void> {
    await this.#transport.call("deleteImage", { parameters: { id: this.id }, attemptSeconds: 45, ...options })
  }

  /** Its transitions, oldest first. */
  async *transitions(options: Waiting = {}): AsyncGenerator<Transition, void, undefined> {
    const pages = paged((cursor) =>
      this.#transport.call("listImageTransitions", { parameters: { id: this.id, cursor }, ...options })
    )
    for await (const page of pages) yield* page.transitions
  }
}

export class Images {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Pulls one, and waits until it is ready:
   * const image = await atoll.images.pull("docker.io/library/alpine:3.22")
   */
  async pull(reference: string, options: PullImageOptions = {}): Promise<Image> {
    const { idempotencyKey = randomKey(), untilReady = true, withinSeconds, signal, ...body } = options
    const { image: record } = await this.#transport.call("pullImage", {
      parameters: { "Idempotency-Key": idempotencyKey },
      body: { ...body, reference },
      signal
    })
    const image = new Image(this.#transport, record)
    return untilReady ? image.untilReady({ withinSeconds, signal }) : image
  }

  /**
   * Makes one of a file that `docker save` has written, or of another OCI image layout in a tar, and waits until it is ready. Needs Node, Deno or Bun:
   * const image = await atoll.images.upload("./image.tar")
   */
  async upload(path: string, options: UploadImageOptions = {}): Promise<Image> {
    const { name, idempotencyKey = randomKey(), untilReady = true, withinSeconds, signal } = options
    needNode("Files of a machine need")
    const { fileBody } = await import("./node/fileBody.ts")
    const { body, read } = await fileBody(path)
    const parameters = { name, "Idempotency-Key": idempotencyKey }
    const { image: record } = await this.#transport
      .call("uploadImage", { parameters, body, signal, attemptSeconds: null })
      .catch((thrown: unknown) => {
        throw read.failure ?? thrown
      })
    const image = new Image(this.#transport, record)
    return untilReady ? image.untilReady({ withinSeconds, signal }) : image
  }

  async get(id: string, options: Waiting = {}): Promise<Image> {
    const { image } = await this.#transport.call("getImage", { parameters: { id }, ...options })
    return new Image(this.#transport, image)
  }

  /** Newest first, deleted ones included unless `status` says otherwise; requests the next page by itself. */
  async *list({ name, status, ...options }: ListImagesOptions = {}): AsyncGenerator<Image, void, undefined> {
    const pages = paged((cursor) =>
      this.#transport.call("listImages", { parameters: { name, status, cursor }, ...options })
    )
    for await (const page of pages) for (const record of page.images) yield new Image(this.#transport, record)
  }

  async delete(id: string, options: Waiting = {}): Promise<void> {
    await this.#transport.call("deleteImage", { parameters: { id }, attemptSeconds: 45, ...options })
  }
}
