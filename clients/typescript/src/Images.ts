/** Images of an account: root file systems for Sandboxes, pulled from registries, uploaded, or built. */
import type { DirectoryOptions } from "./DirectoryOptions.ts"
import { WaitTimeout } from "./errors.ts"
import type { Image as ImageRecord, ImageStatus, PullImageRequest, Transition } from "./generated/schemas.ts"
import { paged } from "./http/paged.ts"
import { randomKey } from "./http/randomKey.ts"
import { sleep } from "./http/sleep.ts"
import type { Transport } from "./http/Transport.ts"
import { followOutput, type OutputChunk } from "./Output.ts"
import { needNode } from "./socket/openSocket.ts"
import type { Waiting } from "./Waiting.ts"
import type { Workspaces } from "./Workspaces.ts"

export interface UntilPulled extends Waiting {
  /** By default 600. */
  readonly withinSeconds?: number | undefined
}

export interface PullImageOptions extends UntilPulled, Pick<PullImageRequest, "name" | "username" | "password"> {
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

export interface BuildImageOptions extends UntilPulled, Pick<PullImageRequest, "name" | "target" | "buildArgs"> {
  /** Where the build's Sandbox is. By default that of the snapshot, or the account's first workspace, which is made if there is none. */
  readonly workspaceId?: string | undefined
  /**
   * A directory of this machine, all of it: `filter` skips entries, and the build skips what `.dockerignore` names. Needs Node, Deno or Bun. Absent: the
   * context is that of the snapshot, or empty.
   */
  readonly context?: string | undefined
  readonly filter?: DirectoryOptions["filter"]
  /** With `context` the path of the Dockerfile in it, by default `Dockerfile`; without it the text of one. */
  readonly dockerfile?: string | undefined
  /** A snapshot whose /workspace is the context. */
  readonly snapshotId?: string | undefined
  /** For private base images; not with `context`. */
  readonly login?: { readonly registry: string; readonly username: string; readonly password: string } | undefined
  /** The sizes of the build's Sandbox; not with `context`. */
  readonly profile?: PullImageRequest["profile"]
  /** Called with the build's output as it is written. */
  readonly onOutput?: ((chunk: OutputChunk) => void) | undefined
  /** Names this build: the same key and request return the same image, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** False: returns an image that may still be being built. */
  readonly untilReady?: boolean | undefined
}

export interface ListImagesOptions extends Waiting {
  /** Only those with exactly this name. */
  readonly name?: string | undefined
  readonly status?: ReadonlyArray<ImageStatus> | undefined
}

const lookEveryMs = 200

const isComing = (status: ImageStatus) => status === "building" || status === "pulling"

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

  /** The output of its build from the beginning, until that is over. Yields nothing if it never began. */
  async *buildOutput(options: Waiting = {}): AsyncGenerator<OutputChunk, void, undefined> {
    while (this.status === "building" && this.#record.build?.operationId === null) {
      await sleep(lookEveryMs, options.signal)
      await this.refresh(options)
    }
    const { build } = this.#record
    if (build === null || build.operationId === null) return
    yield* followOutput(this.#transport, build.sandboxId, build.operationId, {}, options.signal)
  }

  /** Waits while it is built, or a host pulls or unpacks it. Fails, with its status, if it will not be ready. */
  async untilReady({ withinSeconds = 600, ...options }: UntilPulled = {}): Promise<this> {
    for (const until = Date.now() + withinSeconds * 1000; isComing(this.status); ) {
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
  readonly #workspaces: Workspaces

  constructor(transport: Transport, workspaces: Workspaces) {
    this.#transport = transport
    this.#workspaces = workspaces
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

  /**
   * Builds one of a Dockerfile, and waits until it is ready. Fails, with the reason, where the build fails:
   * const image = await atoll.images.build({ context: "./app", onOutput: ({ bytes }) => process.stdout.write(bytes) })
   */
  async build(options: BuildImageOptions): Promise<Image> {
    const { onOutput, untilReady = true, withinSeconds = 3600, signal } = options
    const record = await (options.context === undefined
      ? this.#buildText(options)
      : this.#buildContext(options.context, options))
    const image = new Image(this.#transport, record)
    if (!untilReady) return image
    if (onOutput !== undefined) for await (const chunk of image.buildOutput({ signal })) onOutput(chunk)
    return image.untilReady({ withinSeconds, signal })
  }

  async #firstWorkspace({ signal }: Waiting): Promise<string> {
    return (await this.#workspaces.first({ signal })).id
  }

  async #buildText(options: BuildImageOptions): Promise<ImageRecord> {
    const { name, target, buildArgs, workspaceId, dockerfile, snapshotId, profile, login, signal } = options
    if (dockerfile === undefined) throw new TypeError("A build needs a context, or the text of a Dockerfile.")
    const { image } = await this.#transport.call("pullImage", {
      parameters: { "Idempotency-Key": options.idempotencyKey ?? randomKey() },
      body: {
        ...{
          name: name ?? null,
          target: target ?? null,
          buildArgs: buildArgs ?? null,
          workspaceId: workspaceId ?? (snapshotId === undefined ? await this.#firstWorkspace(options) : null)
        },
        ...{ dockerfile, contextSnapshotId: snapshotId ?? null, profile: profile ?? null },
        ...login
      },
      signal
    })
    return image
  }

  async #buildContext(context: string, options: BuildImageOptions): Promise<ImageRecord> {
    const { name, target, buildArgs, workspaceId, dockerfile, snapshotId, profile, login, filter, signal } = options
    if (snapshotId !== undefined || login !== undefined || profile != null) {
      throw new TypeError(
        "snapshotId, login and profile are for a build without context: send the text of the Dockerfile."
      )
    }
    needNode("Directories of a machine need")
    const { sendDirectory } = await import("./node/uploadDirectory.ts")
    const own = workspaceId ?? (await this.#firstWorkspace(options))
    const { result } = await sendDirectory(context, { filter, signal }, (body, signal) =>
      this.#transport.call("buildImage", {
        parameters: {
          ...{
            name: name ?? undefined,
            target: target ?? undefined,
            workspaceId: own,
            dockerfile
          },
          buildArg: Object.entries(buildArgs ?? {}).map(([name, value]) => `${name}=${value}`),
          "Idempotency-Key": options.idempotencyKey ?? randomKey()
        },
        ...{ body, signal, attemptSeconds: null }
      })
    )
    return result.image
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
