/** An isolated machine. */
import { ConnectionError, WaitTimeout } from "./errors.ts"
import { type FollowEventsOptions, followEvents, type TransitionEvent } from "./events.ts"
import { Files } from "./Files.ts"
import type {
  ForkRequest,
  LogEntry,
  MissingInFork,
  Process,
  RefusedFork,
  SandboxLineage,
  Sandbox as SandboxRecord,
  SandboxStatus,
  Transition,
  UpdateSandboxRequest
} from "./generated/schemas.ts"
import { paged } from "./http/paged.ts"
import { randomKey } from "./http/randomKey.ts"
import { sleep } from "./http/sleep.ts"
import type { Transport } from "./http/Transport.ts"
import { listensCommand } from "./listensCommand.ts"
import type { Forward, ForwardOptions } from "./node/Forward.ts"
import type { TunnelStream } from "./node/TunnelStream.ts"
import { Operation } from "./Operation.ts"
import { Previews } from "./Previews.ts"
import { type RunOptions, type RunResult, resultOf, type StartOptions, startBody } from "./run.ts"
import { Snapshot, type SnapshotOptions } from "./Snapshots.ts"
import { needNode } from "./socket/openSocket.ts"
import { Terminal, type TerminalOptions } from "./Terminal.ts"
import { Tunnels } from "./Tunnels.ts"
import type { Waiting } from "./Waiting.ts"

export interface UntilRunning extends Waiting {
  /** By default 120. */
  readonly withinSeconds?: number | undefined
}

export interface ForkOptions extends UntilRunning, ForkRequest {
  /** Names this fork: the same key returns the same Sandboxes, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** False: returns pending Sandboxes. */
  readonly untilRunning?: boolean | undefined
}

export interface RollbackOptions extends UntilRunning {
  /** False: its volume before is given up; that needs the scope `sandbox:delete`, too. */
  readonly keep?: boolean | undefined
  /** Names this rollback: repeated with the same key it rolls back once, also from another process. By default a new key. */
  readonly idempotencyKey?: string | undefined
  /** False: returns while it is being rolled back. */
  readonly untilDone?: boolean | undefined
}

export interface Fork {
  /** What they were made of. A new one is deleted after 24 hours, or at `expiresAt`; with `atRevision` it is one that there was. */
  readonly snapshot: Snapshot
  /** In order. */
  readonly sandboxes: ReadonlyArray<Sandbox>
  /** Those that a limit, the credit or the hosts refused. */
  readonly refused: ReadonlyArray<RefusedFork>
  /** With `atRevision`: what happened up to that revision and is not in the snapshot. Else null. */
  readonly missing: MissingInFork | null
}

/** The statuses of a Sandbox on its way to running. */
const onTheWay: ReadonlySet<SandboxStatus> = new Set(["pending"])
const lookEveryMs = 200

export class Sandbox implements AsyncDisposable {
  readonly id: string
  readonly workspaceId: string
  readonly files: Files
  readonly previews: Previews
  readonly #transport: Transport
  readonly #tunnels: Tunnels
  #record: SandboxRecord

  constructor(transport: Transport, record: SandboxRecord) {
    this.#transport = transport
    this.#record = record
    this.id = record.id
    this.workspaceId = record.workspaceId
    this.files = new Files(transport, record.id)
    this.#tunnels = new Tunnels(transport, record.id)
    this.previews = new Previews(transport, record.id, (port, options) => this.#listens(port, options))
  }

  /** As the service's last answer has it. */
  get record(): SandboxRecord {
    return this.#record
  }

  get status(): SandboxStatus {
    return this.#record.status
  }

  #told({ sandbox }: { readonly sandbox: SandboxRecord }): this {
    this.#record = sandbox
    return this
  }

  async refresh(options: Waiting = {}): Promise<this> {
    return this.#told(await this.#transport.call("getSandbox", { parameters: { id: this.id }, ...options }))
  }

  /** Waits while it is pending. Fails, with its status, if it will not run by itself. */
  async untilRunning(options: UntilRunning = {}): Promise<this> {
    await this.#untilBooted(options)
    if (this.status !== "running" && this.status !== "sleeping") {
      const reason = this.#record.statusReason
      const why = reason === null ? "" : ` (${reason.code}: ${reason.message})`
      throw new WaitTimeout(`The Sandbox ${this.id} is ${this.status}${why}, and will not run by itself.`)
    }
    return this
  }

  async #untilBooted({ withinSeconds = 120, ...options }: UntilRunning): Promise<void> {
    for (const until = Date.now() + withinSeconds * 1000; onTheWay.has(this.status); ) {
      if (Date.now() > until)
        throw new WaitTimeout(`The Sandbox ${this.id} is ${this.status} after ${withinSeconds} s.`)
      await sleep(lookEveryMs, options.signal)
      await this.refresh(options)
    }
  }

  /** Boots it again (the service calls that a start) with its volume, and waits until it runs. */
  async boot(options: UntilRunning & { readonly idempotencyKey?: string | undefined } = {}): Promise<this> {
    const { idempotencyKey = randomKey(), signal } = options
    const parameters = { id: this.id, "Idempotency-Key": idempotencyKey, wait: "running" as const }
    this.#told(await this.#transport.call("startSandbox", { parameters, signal, attemptSeconds: 45 }))
    return this.untilRunning(options)
  }

  /** Ends all processes in it; its volume stays. */
  async stop({ withinSeconds = 120, ...options }: UntilRunning = {}): Promise<this> {
    const until = Date.now() + withinSeconds * 1000
    this.#told(
      await this.#transport.call("stopSandbox", { parameters: { id: this.id }, attemptSeconds: 45, ...options })
    )
    while (this.status === "stopping" || this.status === "restoring") {
      if (Date.now() > until)
        throw new WaitTimeout(`The Sandbox ${this.id} is ${this.status} after ${withinSeconds} s.`)
      await sleep(lookEveryMs, options.signal)
      await this.refresh(options)
    }
    return this
  }

  /**
   * Changes its name, metadata, variables, sizes, lifetime or checkpoints. An absent field stays, null removes it; metadata and variables
   * change only by the given keys.
   * Later commands get the new variables.
   */
  async update(changes: UpdateSandboxRequest, options: Waiting = {}): Promise<this> {
    const parameters = { id: this.id }
    return this.#told(await this.#transport.call("updateSandbox", { parameters, body: changes, ...options }))
  }

  /** Permanently, with its volume. */
  async delete(options: Waiting = {}): Promise<void> {
    await this.#transport.call("deleteSandbox", { parameters: { id: this.id }, attemptSeconds: 45, ...options })
  }

  /** `await using`: it is deleted at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete()
  }

  /** Keeps its volume as it is now, and waits until the image is ready. It outlives the Sandbox. */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    const { idempotencyKey = randomKey(), untilReady = true, withinSeconds, signal, ...body } = options
    const { snapshot: record } = await this.#transport.call("createSnapshot", {
      parameters: { id: this.id, "Idempotency-Key": idempotencyKey },
      body,
      signal
    })
    const snapshot = new Snapshot(this.#transport, record)
    return untilReady ? snapshot.untilReady({ withinSeconds, signal }) : snapshot
  }

  /**
   * Makes copies of it that begin with one and the same volume, and waits until each runs or has failed, as its `status` says.
   * `refused` has those that were not made. With `atRevision` they begin from the newest snapshot at or before that revision, and
   * `missing` says what that does not contain.
   */
  async fork(options: ForkOptions = {}): Promise<Fork> {
    const { idempotencyKey = randomKey(), untilRunning = true, withinSeconds = 120, signal, ...body } = options
    const until = Date.now() + withinSeconds * 1000
    const parameters = { id: this.id, "Idempotency-Key": idempotencyKey }
    const made = await this.#transport.call("forkSandbox", { parameters, body, signal, attemptSeconds: 45 })
    const sandboxes = made.sandboxes.map((record) => new Sandbox(this.#transport, record))
    // One after the other: they boot meanwhile, and a hundred of them are few requests.
    if (untilRunning)
      for (const child of sandboxes) await child.#untilBooted({ withinSeconds: (until - Date.now()) / 1000, signal })
    return {
      snapshot: new Snapshot(this.#transport, made.snapshot),
      sandboxes,
      refused: made.refused,
      missing: made.missing
    }
  }

  /**
   * Gives it the volume of a snapshot, and waits until it runs again, or has stopped if it was stopped. What ran in it is lost. Its volume before
   * becomes a snapshot, which this returns: it is deleted after 24 hours. Fails if the volume stays as it was.
   */
  async rollback(snapshot: Snapshot | string, options: RollbackOptions = {}): Promise<Snapshot | null> {
    const { idempotencyKey = randomKey(), keep = true, untilDone = true, withinSeconds = 120, signal } = options
    const until = Date.now() + withinSeconds * 1000
    const parameters = { id: this.id, "Idempotency-Key": idempotencyKey }
    const body = { snapshotId: typeof snapshot === "string" ? snapshot : snapshot.id, keep }
    const made = await this.#transport.call("rollbackSandbox", { parameters, body, signal, attemptSeconds: 45 })
    this.#told(made)
    const kept = made.kept === null ? null : new Snapshot(this.#transport, made.kept)
    if (!untilDone) return kept
    while (this.status === "stopping" || this.status === "restoring") {
      if (Date.now() > until)
        throw new WaitTimeout(`The Sandbox ${this.id} is ${this.status} after ${withinSeconds} s.`)
      await sleep(lookEveryMs, signal)
      await this.refresh({ signal })
    }
    const { rollback } = this.#record
    if (rollback?.outcome === "failed") {
      const why = rollback.reason === null ? "" : ` (${rollback.reason.code}: ${rollback.reason.message})`
      throw new WaitTimeout(`The Sandbox ${this.id} was not rolled back${why}; its volume is as it was.`)
    }
    await this.#untilBooted({ withinSeconds: (until - Date.now()) / 1000, signal })
    return kept === null ? null : kept.refresh({ signal })
  }

  /** From which Sandboxes it comes, nearest first, and which come from it, newest first: each over a snapshot. */
  async lineage(options: Waiting = {}): Promise<Pick<SandboxLineage, "parents" | "children">> {
    const children: Array<SandboxLineage["children"][number]> = []
    let parents: SandboxLineage["parents"] = []
    const pages = paged((cursor) =>
      this.#transport.call("readSandboxLineage", { parameters: { id: this.id, cursor }, ...options })
    )
    for await (const page of pages) {
      parents = page.parents
      children.push(...page.children)
    }
    return { parents, children }
  }

  /** Starts a command; it goes on if the caller ends. `argv` is a program and its arguments: no shell is involved. */
  async start(argv: ReadonlyArray<string>, options: StartOptions = {}): Promise<Operation> {
    const { operation } = await this.#transport.call("startOperation", {
      parameters: { id: this.id, "Idempotency-Key": options.idempotencyKey ?? randomKey() },
      body: startBody(argv, options),
      signal: options.signal
    })
    return new Operation(this.#transport, operation)
  }

  /**
   * Runs a command to its end. A non-zero exit is a result, not an error. An aborted signal ends the wait, not the
   * command.
   */
  async run(argv: ReadonlyArray<string>, options: RunOptions = {}): Promise<RunResult> {
    return resultOf(await this.start(argv, options), options)
  }

  /** An operation that was started earlier, here or elsewhere. */
  async operation(id: string, options: Waiting = {}): Promise<Operation> {
    const { operation } = await this.#transport.call("getOperation", {
      parameters: { id: this.id, operationId: id },
      ...options
    })
    return new Operation(this.#transport, operation)
  }

  /** Newest first; requests the next page by itself. */
  async *operations(options: Waiting = {}): AsyncGenerator<Operation, void, undefined> {
    const pages = paged((cursor) =>
      this.#transport.call("listOperations", {
        parameters: { id: this.id, cursor },
        ...options
      })
    )
    for await (const page of pages) for (const record of page.operations) yield new Operation(this.#transport, record)
  }

  /** Opens a login shell on a terminal. It ends with its connection. */
  terminal(options: TerminalOptions = {}): Promise<Terminal> {
    return Terminal.open(this.#transport, this.id, options)
  }

  /**
   * A TCP connection to a port in the Sandbox, as a Duplex of Node; without a listener there it fails with
   * `SANDBOX_UNAVAILABLE`. It lasts for an hour at most. The service must offer TCP access (else
   * `UNSUPPORTED_BY_RUNTIME`). Node, Deno, Bun.
   */
  async tunnel(port: number, options: Waiting = {}): Promise<TunnelStream> {
    needNode("A tunnel needs")
    return this.#tunnels.open(port, options)
  }

  /** Listens here, and forwards each connection to a port in the Sandbox, until it is closed. Node, Deno, Bun. */
  async forward(port: number, options: ForwardOptions = {}): Promise<Forward> {
    needNode("Forwarding a port needs")
    const { Forward } = await import("./node/Forward.ts")
    return Forward.listen(new Tunnels(this.#transport, this.id), port, options)
  }

  async processes(options: Waiting = {}): Promise<ReadonlyArray<Process>> {
    return (await this.#transport.call("listProcesses", { parameters: { id: this.id }, ...options })).processes
  }

  /** The latest output of its commands, oldest first: 5,000 entries at most. */
  async logs(
    options: Waiting & { readonly since?: string | undefined; readonly limit?: number | undefined } = {}
  ): Promise<ReadonlyArray<LogEntry>> {
    const { since, limit, signal } = options
    return (await this.#transport.call("readLogs", { parameters: { id: this.id, since, limit }, signal })).logs.entries
  }

  /** Its transitions, oldest first. */
  async *transitions(options: Waiting = {}): AsyncGenerator<Transition, void, undefined> {
    const pages = paged((cursor) =>
      this.#transport.call("listSandboxTransitions", {
        parameters: { id: this.id, cursor },
        ...options
      })
    )
    for await (const page of pages) yield* page.transitions
  }

  /**
   * Every transition of it and of everything in it, from now on or after a position. Each once, over lost connections.
   */
  events(options: FollowEventsOptions = {}): AsyncGenerator<TransitionEvent, void, undefined> {
    return followEvents(this.#transport, this.id, options)
  }

  async #listens(port: number, { signal }: Waiting): Promise<boolean> {
    try {
      const { result } = await this.#transport.call("execute", {
        parameters: { id: this.id },
        body: { argv: listensCommand(port), timeoutSeconds: 10 },
        signal
      })
      return result.exitCode === 0
    } catch (thrown) {
      if (thrown instanceof ConnectionError) return false
      throw thrown
    }
  }
}
