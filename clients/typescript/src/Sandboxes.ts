/** The Sandboxes of an account. */
import type { CreateSandboxRequest, SandboxStatus } from "./generated/schemas.ts"
import { paged } from "./http/paged.ts"
import { randomKey } from "./http/randomKey.ts"
import type { Transport } from "./http/Transport.ts"
import type { Image } from "./Images.ts"
import { Sandbox, type UntilRunning } from "./Sandbox.ts"
import type { Snapshot } from "./Snapshots.ts"
import type { Waiting } from "./Waiting.ts"
import type { Workspaces } from "./Workspaces.ts"

export interface CreateSandboxOptions extends UntilRunning, Omit<CreateSandboxRequest, "workspaceId"> {
  /** By default the account's first workspace, which is made if there is none. */
  readonly workspaceId?: string | undefined
  /** Its volume begins as a copy of this one: a snapshot that is ready. The same as `snapshotId`. */
  readonly snapshot?: Pick<Snapshot, "id"> | undefined
  /** Its root file system: an image that is ready. The same as `imageId`. */
  readonly image?: Pick<Image, "id"> | undefined
  /** Names this creation: the same key returns the same Sandbox, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** False: returns a pending Sandbox. */
  readonly untilRunning?: boolean | undefined
}

export interface ListSandboxesOptions extends Waiting {
  readonly status?: ReadonlyArray<SandboxStatus> | undefined
  readonly workspaceId?: string | undefined
  /** Only Sandboxes with all of these pairs. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export class Sandboxes {
  readonly #transport: Transport
  readonly #workspaces: Workspaces

  constructor(transport: Transport, workspaces: Workspaces) {
    this.#transport = transport
    this.#workspaces = workspaces
  }

  /**
   * Makes one and waits until it runs:
   * await using sandbox = await atoll.sandboxes.create()
   */
  async create(options: CreateSandboxOptions = {}): Promise<Sandbox> {
    const { idempotencyKey = randomKey(), untilRunning = true, withinSeconds, signal, ...asked } = options
    const { workspaceId, snapshot, snapshotId = snapshot?.id, image, imageId = image?.id, ...body } = asked
    const { sandbox: record } = await this.#transport.call("createSandbox", {
      parameters: { "Idempotency-Key": idempotencyKey, ...(untilRunning ? { wait: "running" as const } : {}) },
      body: { ...body, snapshotId, imageId, workspaceId: workspaceId ?? (await this.#workspaces.first({ signal })).id },
      signal,
      attemptSeconds: 45
    })
    const sandbox = new Sandbox(this.#transport, record)
    return untilRunning ? sandbox.untilRunning({ withinSeconds, signal }) : sandbox
  }

  async get(id: string, options: Waiting = {}): Promise<Sandbox> {
    const { sandbox } = await this.#transport.call("getSandbox", { parameters: { id }, ...options })
    return new Sandbox(this.#transport, sandbox)
  }

  /** Newest first, deleted ones included unless `status` says otherwise; requests the next page by itself. */
  async *list({
    status,
    workspaceId,
    metadata = {},
    ...options
  }: ListSandboxesOptions = {}): AsyncGenerator<Sandbox, void, undefined> {
    const pairs = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]))
    const pages = paged((cursor) =>
      this.#transport.call("listSandboxes", {
        parameters: { status, workspaceId, metadata: pairs, cursor },
        ...options
      })
    )
    for await (const page of pages) for (const record of page.sandboxes) yield new Sandbox(this.#transport, record)
  }
}
