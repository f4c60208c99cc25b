/** Clients of a real service that write down each call with the times of its begin and of its answer, by one monotonic clock. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Answer, Does, DoesOf } from "../../proofs/linear/calls.ts"
import { answerOf } from "./answers.ts"
import { filesOf } from "./archives.ts"
import { eachEvent } from "./events.ts"
import type { Life } from "./Life.ts"
import { files } from "./plan.ts"
import { previewDomain, type Request, requestOf } from "./requests.ts"
import type { ToldStep } from "./Told.ts"
import { visit } from "./visits.ts"

const answerWithinMs = 45_000
const againAfterMs = 25
const againAfterOutageMs = 50
/** How long an outage may last, at the end of which a call is answered. */
const servedWithinMs = 120_000
/** How long a stream is read, from its answer on. */
const streamMs = 400
/** How long a stream may take to tell what was committed. */
const toldWithinMs = 10_000

/** Of a connection that was refused: the service has not seen the call. */
const isUnsent = (error: unknown): boolean =>
  ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === "ECONNREFUSED"

const isLoss = (error: unknown): boolean =>
  /fetch failed|terminated|socket|ECONN|aborted|timeout|it ends before/i.test(String(error))

/** The service said: nothing was done, try again. */
const isOutage = (answer: Answer): boolean => answer.is === "refused" && answer.code === "SERVICE_UNAVAILABLE"

export interface Target {
  readonly origin: () => string
  readonly key: string
  readonly workspaceId: string
}

export class RecordedClients {
  calls = 0
  lost = 0
  outages = 0
  readonly #target: Target

  constructor(target: Target) {
    this.#target = target
  }

  /** One call, into the history of its Sandbox. Returns whether it was sent. */
  async call(client: string, life: Life, does: Does): Promise<boolean> {
    const invokedAt = performance.now()
    life.inFlight++
    try {
      await this.#do(client, life, does, invokedAt)
    } catch (error) {
      if (isUnsent(error)) {
        await sleep(againAfterMs)
        return false
      }
      if (!isLoss(error)) throw error
      this.#record(client, life, does, invokedAt, null)
    } finally {
      life.inFlight--
    }
    return true
  }

  #do(client: string, life: Life, does: Does, invokedAt: number): Promise<void> {
    switch (does.type) {
      case "visit":
        return this.#visit(client, life, does, invokedAt)
      case "listen":
      case "told":
        return this.#listen(client, life, invokedAt)
      case "follow":
        return this.#follow(client, life, does, invokedAt)
      case "archived":
        return this.#archive(client, life, invokedAt)
      default:
        return this.#ask(client, life, does, invokedAt)
    }
  }

  #fetch(
    { method, path, key: idempotencyKey, json, bytes }: Request,
    signal: AbortSignal,
    lastId: string | null = null
  ) {
    const type = json === undefined ? "application/octet-stream" : "application/json"
    const body = json === undefined ? bytes : JSON.stringify(json)
    return fetch(`${this.#target.origin()}/api/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#target.key}`,
        ...(body === undefined ? {} : { "content-type": type }),
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
        ...(lastId === null ? {} : { "last-event-id": lastId })
      },
      ...(body === undefined ? {} : { body }),
      signal
    })
  }

  async #ask(client: string, life: Life, does: Does, invokedAt: number): Promise<void> {
    const request = requestOf(does, life, this.#target.workspaceId)
    const response = await this.#fetch(request, AbortSignal.timeout(answerWithinMs))
    await this.#answered(client, life, does, invokedAt, response)
  }

  async #answered(client: string, life: Life, does: Does, invokedAt: number, response: Response): Promise<void> {
    const text = await response.text()
    const ms = performance.now() - invokedAt
    this.#record(client, life, does, invokedAt, answerOf(does, life, response.status, text, ms))
    if (response.status === 503) await sleep(againAfterOutageMs)
  }

  /** @param answer Null: it was lost, or says that the outcome is unknown. */
  #record(client: string, life: Life, does: Does, invokedAt: number, answer: Answer | null): void {
    this.calls++
    const answered = answer === null ? null : { at: invokedAt + answer.ms, answer }
    life.history.push({ client, does, invokedAt, answered })
    if (answer === null) this.lost++
    else {
      if (isOutage(answer)) this.outages++
      life.learn(does, answer)
    }
  }

  async #visit(client: string, life: Life, does: DoesOf<"visit">, invokedAt: number): Promise<void> {
    const origin = this.#target.origin()
    const how = await visit(origin, `${does.id}.${previewDomain}`, answerWithinMs)
    const ms = performance.now() - invokedAt
    this.#record(client, life, does, invokedAt, how === null ? null : { is: "visited", how, ms })
  }

  /** An archive has all files, each at a separate moment. */
  async #archive(client: string, life: Life, invokedAt: number): Promise<void> {
    const does = { sandbox: life.key, type: "archived" } as const
    const request = requestOf({ ...does, path: files[0]! }, life, this.#target.workspaceId)
    const response = await this.#fetch(request, AbortSignal.timeout(answerWithinMs))
    if (response.status !== 200) return this.#answered(client, life, { ...does, path: files[0]! }, invokedAt, response)
    const found = await filesOf(response.body!)
    const ms = performance.now() - invokedAt
    for (const path of files) {
      this.#record(client, life, { ...does, path }, invokedAt, { is: "text", text: found.get(path) ?? null, ms })
    }
  }

  async #follow(client: string, life: Life, does: DoesOf<"follow">, invokedAt: number): Promise<void> {
    const whole = new AbortController()
    const signal = AbortSignal.any([whole.signal, AbortSignal.timeout(answerWithinMs)])
    const request = requestOf(does, life, this.#target.workspaceId)
    const response = await this.#fetch(request, signal)
    if (response.status !== 200) return this.#answered(client, life, does, invokedAt, response)
    setTimeout(() => whole.abort(), streamMs)
    let text = ""
    let eof = false
    await eachEvent(response.body!, signal, ({ event, data }) => {
      if (event === "operation") eof = true
      if (event !== "output") return
      const piece = JSON.parse(data)
      const isNext = piece.offset === does.from + text.length
      text += isNext ? Buffer.from(piece.data, "base64").toString() : `<skipped to ${piece.offset}>`
    })
    this.#record(client, life, does, invokedAt, { is: "output", text, eof, ms: performance.now() - invokedAt })
  }

  /**
   * The client's stream of events: it begins, or goes on where it was broken off.
   *
   * @param toEnd Until it has told all that was read of the log.
   */
  async #listen(client: string, life: Life, invokedAt: number, toEnd = false): Promise<void> {
    const told = life.toldTo(client)
    const whole = new AbortController()
    const signal = AbortSignal.any([whole.signal, AbortSignal.timeout(answerWithinMs)])
    const request = { method: "GET", path: `/sandboxes/${life.id}/events` }
    const response = await this.#fetch(request, signal, told.cursor)
    if (response.status !== 200) {
      const does: Does =
        told.cursor === null
          ? { sandbox: life.key, type: "listen" }
          : { sandbox: life.key, type: "told", after: 0, toEnd: false }
      return this.#answered(client, life, does, invokedAt, response)
    }
    this.calls++
    const timer = setTimeout(() => whole.abort(), toEnd ? toldWithinMs : streamMs)
    const steps: Array<ToldStep> = []
    await eachEvent(response.body!, signal, ({ id, event, data }) => {
      if (told.cursor === null) told.begins(invokedAt, performance.now())
      told.cursor = id ?? told.cursor
      const step: ToldStep | null = event === "transition" ? JSON.parse(data) : null
      if (step !== null) steps.push(step)
      if (toEnd && step?.kind === "sandbox" && step.revision >= life.revision) whole.abort()
    })
    clearTimeout(timer)
    // A stream that broke off by itself may have more to tell.
    if (told.cursor !== null) {
      told.goesOn({ invokedAt, at: performance.now(), steps, toEnd: toEnd && whole.signal.aborted })
    }
  }

  /** All streams of events tell what is left. Nothing of the Sandbox changes meanwhile. */
  async tellRest(life: Life): Promise<void> {
    const behind = life.listeners.filter((client) => life.toldTo(client).revision < life.revision)
    const isOf = (client: string) => life.toldTo(client).revision > 0
    await Promise.all(
      behind.filter(isOf).map((client) => this.#listen(client, life, performance.now(), true).catch(() => {}))
    )
  }

  /** The same until it was answered, by more than that the service is out of order. No other client uses this Sandbox. */
  async certainly(client: string, life: Life, does: Does): Promise<void> {
    for (const endAt = performance.now() + servedWithinMs; performance.now() < endAt; ) {
      if (!(await this.call(client, life, does))) continue
      const answer = life.history.at(-1)!.answered?.answer
      if (answer !== undefined && !isOutage(answer)) return
    }
    throw new Error(`${does.type} of ${life.key} was not answered within ${servedWithinMs} ms`)
  }
}
