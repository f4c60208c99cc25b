/** Clients of a real service that write down each call with the times of its begin and of its answer, by one monotonic clock. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Does } from "../../proofs/linear/calls.ts"
import type { Life } from "./Life.ts"
import { answerOf, requestOf } from "./requests.ts"

const answerWithinMs = 45_000
const againAfterMs = 25
const againAfterOutageMs = 50

/** Of a connection that was refused: the service has not seen the call. */
const isUnsent = (error: unknown): boolean =>
  ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === "ECONNREFUSED"

export interface Target {
  readonly origin: () => string
  readonly key: string
  readonly workspaceId: string
}

export class RecordedClients {
  calls = 0
  lost = 0
  /** Answers that said "nothing was done, try again". */
  outages = 0
  readonly #target: Target

  constructor(target: Target) {
    this.#target = target
  }

  /** One call, into the history of its Sandbox. Returns whether it was sent. */
  async call(client: string, life: Life, does: Does): Promise<boolean> {
    const { key, workspaceId } = this.#target
    const { method, path, key: idempotencyKey, json, bytes } = requestOf(does, life, workspaceId)
    const type = json === undefined ? "application/octet-stream" : "application/json"
    const body = json === undefined ? bytes : JSON.stringify(json)
    const invokedAt = performance.now()
    life.inFlight++
    try {
      const response = await fetch(`${this.#target.origin()}/api/v2${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { "content-type": type }),
          ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey })
        },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(answerWithinMs)
      })
      const text = await response.text()
      const at = performance.now()
      this.#note(client, life, does, invokedAt, { status: response.status, text, at })
      if (response.status === 503) await sleep(againAfterOutageMs)
    } catch (error) {
      if (isUnsent(error)) {
        await sleep(againAfterMs)
        return false
      }
      if (!/fetch failed|terminated|socket|ECONN|aborted|timeout/i.test(String(error))) throw error
      this.calls++
      this.lost++
      life.history.push({ client, does, invokedAt, answered: null })
    } finally {
      life.inFlight--
    }
    return true
  }

  #note(
    client: string,
    life: Life,
    does: Does,
    invokedAt: number,
    { status, text, at }: { readonly status: number; readonly text: string; readonly at: number }
  ): void {
    this.calls++
    const answer = answerOf(does, life, status, text, at - invokedAt)
    life.history.push({ client, does, invokedAt, answered: answer === null ? null : { at, answer } })
    if (answer === null) this.lost++
    else {
      if (answer.is === "refused" && answer.code === "SERVICE_UNAVAILABLE") this.outages++
      life.learn(does, answer)
    }
  }

  /** The same until it was sent. */
  async certainly(client: string, life: Life, does: Does): Promise<void> {
    while (!(await this.call(client, life, does)));
  }
}
