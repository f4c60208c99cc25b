/** Snapshots of an account: volumes of Sandboxes as they were at one instant. */
import { WaitTimeout } from "./errors.ts"
import type {
  CreateSnapshotRequest,
  Snapshot as SnapshotRecord,
  SnapshotStatus,
  Transition,
  UpdateSnapshotRequest
} from "./generated/schemas.ts"
import { paged } from "./http/paged.ts"
import { randomKey } from "./http/randomKey.ts"
import { sleep } from "./http/sleep.ts"
import type { Transport } from "./http/Transport.ts"
import { needNode } from "./socket/openSocket.ts"
import type { Waiting } from "./Waiting.ts"
import type { Workspaces } from "./Workspaces.ts"

export interface UntilReady extends Waiting {
  /** By default 120. */
  readonly withinSeconds?: number | undefined
}

export interface SnapshotOptions extends UntilReady, CreateSnapshotRequest {
  /** Names this snapshot: the same key returns the same one, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** False: returns a snapshot that its host may still be making. */
  readonly untilReady?: boolean | undefined
}

export interface ListSnapshotsOptions extends Waiting {
  /** Only those that were taken of this Sandbox. */
  readonly sandboxId?: string | undefined
  readonly status?: ReadonlyArray<SnapshotStatus> | undefined
}

const lookEveryMs = 100

export class Snapshot {
  readonly id: string
  /** The Sandbox that it was taken of; null: it was imported. */
  readonly sandboxId: string | null
  readonly #transport: Transport
  #record: SnapshotRecord

  constructor(transport: Transport, record: SnapshotRecord) {
    this.#transport = transport
    this.#record = record
    this.id = record.id
    this.sandboxId = record.sandboxId
  }

  /** As the service's last answer has it. */
  get record(): SnapshotRecord {
    return this.#record
  }

  get status(): SnapshotStatus {
    return this.#record.status
  }

  async refresh(options: Waiting = {}): Promise<this> {
    const { snapshot } = await this.#transport.call("getSnapshot", { parameters: { id: this.id }, ...options })
    this.#record = snapshot
    return this
  }

  /** Waits while its host makes the image. Fails, with its status, if it will not be ready. */
  async untilReady({ withinSeconds = 120, ...options }: UntilReady = {}): Promise<this> {
    for (const until = Date.now() + withinSeconds * 1000; this.status === "creating"; ) {
      if (Date.now() > until)
        throw new WaitTimeout(`The snapshot ${this.id} is ${this.status} after ${withinSeconds} s.`)
      await sleep(lookEveryMs, options.signal)
      await this.refresh(options)
    }
    if (this.status !== "ready") {
      const reason = this.#record.statusReason
      const why = reason === null ? "" : ` (${reason.code}: ${reason.message})`
      throw new WaitTimeout(`The snapshot ${this.id} is ${this.status}${why}, and will not be ready.`)
    }
    return this
  }

  /** Changes its name or when it is deleted by itself. An absent field stays, null removes it. */
  async update(changes: UpdateSnapshotRequest, options: Waiting = {}): Promise<this> {
    const parameters = { id: this.id }
    const { snapshot } = await this.#transport.call("updateSnapshot", { parameters, body: changes, ...options })
    this.#record = snapshot
    return this
  }

  /**
   * Writes it into one file of this machine, from which `import` makes a snapshot, here or on another server. An existing file is replaced once all
   * of it is there. Variables are not in it. Needs Node, Deno or Bun.
   */
  async export(path: string, { signal }: Waiting = {}): Promise<{ readonly bytes: number }> {
    needNode("Files of a machine need")
    const { saveSnapshot } = await import("./node/snapshotFile.ts")
    return saveSnapshot(this.#transport, this.id, path, signal)
  }

  /** Permanently. Sandboxes that were made of it keep their volumes. */
  async delete(options: Waiting = {}): Promise<void> {
    await this.#transport.call("deleteSnapshot", { parameters: { id: this.id }, attemptSeconds: 45, ...options })
  }

  /** Its transitions, oldest first. */
  async *transitions(options: Waiting = {}): AsyncGenerator<Transition, void, undefined> {
    const pages = paged((cursor) =>
      this.#transport.call("listSnapshotTransitions", { parameters: { id: this.id, cursor }, ...options })
    )
    for await (const page of pages) yield* page.transitions
  }
}

export interface ImportOptions extends UntilReady {
  /** By default the account's first workspace, which is made if there is none. */
  readonly workspaceId?: string | undefined
  /** By default the name in the file. */
  readonly name?: string | undefined
  /** When it is deleted by itself, as RFC 3339. By default never. */
  readonly expiresAt?: string | undefined
  /** Names this import: the same key and file return the same snapshot, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** False: returns a snapshot that its host may still be checking. */
  readonly untilReady?: boolean | undefined
}

export class Snapshots {
  readonly #transport: Transport
  readonly #workspaces: Workspaces

  constructor(transport: Transport, workspaces: Workspaces) {
    this.#transport = transport
    this.#workspaces = workspaces
  }

  /** Makes a snapshot of a file that `export` has written, and waits until it is ready. Needs Node, Deno or Bun. */
  async import(path: string, options: ImportOptions = {}): Promise<Snapshot> {
    const {
      workspaceId,
      name,
      expiresAt,
      idempotencyKey = randomKey(),
      untilReady = true,
      withinSeconds,
      signal
    } = options
    needNode("Files of a machine need")
    const { fileBody } = await import("./node/fileBody.ts")
    const { body, read } = await fileBody(path)
    const workspace = workspaceId ?? (await this.#workspaces.first({ signal })).id
    const parameters = { workspaceId: workspace, name, expiresAt, "Idempotency-Key": idempotencyKey }
    const { snapshot: record } = await this.#transport
      .call("importSnapshot", { parameters, body, signal, attemptSeconds: null })
      .catch((thrown: unknown) => {
        throw read.failure ?? thrown
      })
    const snapshot = new Snapshot(this.#transport, record)
    return untilReady ? snapshot.untilReady({ withinSeconds, signal }) : snapshot
  }

  async get(id: string, options: Waiting = {}): Promise<Snapshot> {
    const { snapshot } = await this.#transport.call("getSnapshot", { parameters: { id }, ...options })
    return new Snapshot(this.#transport, snapshot)
  }

  /** Newest first, deleted ones included unless `status` says otherwise; requests the next page by itself. */
  async *list({ sandboxId, status, ...options }: ListSnapshotsOptions = {}): AsyncGenerator<Snapshot, void, undefined> {
    const pages = paged((cursor) =>
      this.#transport.call("listSnapshots", { parameters: { sandboxId, status, cursor }, ...options })
    )
    for await (const page of pages) for (const record of page.snapshots) yield new Snapshot(this.#transport, record)
  }
}
