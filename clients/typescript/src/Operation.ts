/** A command that runs in a Sandbox, with or without a waiting client. */
import { WaitTimeout } from "./errors.ts"
import type { Operation as OperationRecord, OutputStream } from "./generated/schemas.ts"
import { paged } from "./http/paged.ts"
import type { Transport } from "./http/Transport.ts"
import { followOutput, type OutputChunk, type OutputFrom } from "./Output.ts"
import type { Waiting } from "./Waiting.ts"

export interface WaitOptions {
  /** How long to wait; the end of the wait does not end the command. By default until the operation has ended. */
  readonly withinSeconds?: number | undefined
  /** Ends the wait; the command goes on. */
  readonly signal?: AbortSignal | undefined
}

export interface FollowOptions {
  readonly from?: OutputFrom | undefined
  /** Ends the reading; the command goes on. */
  readonly signal?: AbortSignal | undefined
}

/** The longest wait of one request. */
const waitMaxSeconds = 30

export const isOver = ({ status }: Pick<OperationRecord, "status">): boolean =>
  status === "completed" || status === "cancelled" || status === "failed"

export class Operation {
  readonly id: string
  readonly sandboxId: string
  readonly #transport: Transport
  #record: OperationRecord

  constructor(transport: Transport, record: OperationRecord) {
    this.#transport = transport
    this.#record = record
    this.id = record.id
    this.sandboxId = record.sandboxId
  }

  /** As the service's last answer has it. */
  get record(): OperationRecord {
    return this.#record
  }

  get #parameters() {
    return { id: this.sandboxId, operationId: this.id }
  }

  async refresh(options: Waiting = {}): Promise<OperationRecord> {
    const { operation } = await this.#transport.call("getOperation", { parameters: this.#parameters, ...options })
    this.#record = operation
    return operation
  }

  /**
   * Waits until it is completed, cancelled or failed. Fails with WaitTimeout when that takes longer than
   * `withinSeconds`.
   */
  async wait({ withinSeconds = Number.POSITIVE_INFINITY, signal }: WaitOptions = {}): Promise<OperationRecord> {
    const until = Date.now() + withinSeconds * 1000
    while (true) {
      const timeoutSeconds = Math.max(0, Math.min(waitMaxSeconds, (until - Date.now()) / 1000))
      const { operation } = await this.#transport.call("waitOperation", {
        parameters: this.#parameters,
        body: { timeoutSeconds },
        signal,
        attemptSeconds: timeoutSeconds + 15
      })
      this.#record = operation
      if (isOver(operation)) return operation
      if (Date.now() >= until)
        throw new WaitTimeout(`The operation ${this.id} is ${operation.status} after ${withinSeconds} s; it goes on.`)
    }
  }

  /**
   * Ends the command: TERM to its whole tree, and KILL after 2 s. An operation that had ended before keeps its result.
   */
  async cancel(options: Waiting = {}): Promise<OperationRecord> {
    const { operation } = await this.#transport.call("cancelOperation", { parameters: this.#parameters, ...options })
    this.#record = operation
    return operation
  }

  /**
   * Its output as it is written, until the operation has ended and all output was yielded:
   * for await (const { stream, bytes } of operation.output()) … A lost connection is reopened at its offset. Returns
   * the ended operation.
   * The service keeps only the end of each stream (16 MiB by default). A piece after a gap is `truncated`, and its
   * `missingBytes` counts the gap; such a piece may itself be empty. To miss nothing, fail on the first one.
   */
  async *output({ from = {}, signal }: FollowOptions = {}): AsyncGenerator<OutputChunk, OperationRecord, undefined> {
    const operation = yield* followOutput(this.#transport, this.sandboxId, this.id, from, signal)
    this.#record = operation
    return operation
  }

  /**
   * One stream's bytes from an absolute offset, as many as are there, 1 MiB at most. Fails with 409 for bytes that are
   * no longer kept.
   */
  async read(stream: OutputStream, offset: number, options: Waiting = {}) {
    return this.#transport.call("readOperationOutput", {
      parameters: { ...this.#parameters, stream, offset },
      ...options
    })
  }

  /** Its transitions, oldest first. */
  async *transitions(options: Waiting = {}) {
    const pages = paged((cursor) =>
      this.#transport.call("listOperationTransitions", {
        parameters: { ...this.#parameters, cursor },
        ...options
      })
    )
    for await (const page of pages) yield* page.transitions
  }
}
